"""The garbage collector of a process that runs for long: it looks at little, and seldom."""

import atexit
import gc

# Nearly all that a page makes is freed without the collector, which by itself would still look
# for cycles among every 700 new objects, and now and then among all there are.
_NEW_OBJECTS = 20_000


def spare_what_stays() -> None:
    """Leave what start-up has made alone from now on, and look at new objects by the thousands."""
    gc.collect()
    gc.freeze()
    # As it ends, all is freed: libraries report on standard error what is not.
    atexit.register(gc.unfreeze)
    gc.set_threshold(_NEW_OBJECTS)
