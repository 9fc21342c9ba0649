"""The collector: in a process of its own, since it is the process's."""

import subprocess
import sys

LOSES_CYCLES = """
import gc, weakref
from cinder.surfaces.cli.collector import spare_what_stays

class Thing: pass

kept = [[] for _ in range(1_000)]
spare_what_stays()
assert gc.get_freeze_count() > 1_000
thing = Thing()
thing.itself = thing
gone = weakref.ref(thing)
del thing
more = []
while gone() is not None and len(more) < 1_000_000:
    more.append([])
print(gone(), len(more))
"""


def test_what_start_up_made_is_left_alone_and_new_cycles_are_still_freed() -> None:
    command = (sys.executable, "-c", LOSES_CYCLES)
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    thing, new_objects = said.split()
    assert thing == "None"
    assert 700 < int(new_objects) < 1_000_000
