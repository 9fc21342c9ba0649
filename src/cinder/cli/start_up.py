"""The imports of a command, without garbage collection."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def importing() -> Iterator[None]:
    """Pause garbage collection, and exclude the objects of the imports from it.

    They stay until the exit, and looking for garbage among them would take a tenth of the time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        # At exit all objects must be freed: libraries report leaks on standard error.
        atexit.register(gc.unfreeze)
        gc.enable()
