"""tests.server.test_process_control"""

import subprocess
import sys

import pytest

LOSES_CYCLES = """
import gc, weakref
from cinder.server.process_control import freeze_startup_objects

class Thing: pass

kept = [[] for _ in range(1_000)]
freeze_startup_objects()
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


FIT = """
import resource
from cinder.server.process_control import fit_connections
print(fit_connections(1000, 64), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def fit_under(limits: str) -> list[int]:
    """Return how many connections fit under some limits of open files, and the limit then."""
    command = ["sh", "-c", f'{limits} && exec "$0" -c "$1"', sys.executable, FIT]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [int(number) for number in output.splitlines()[-1].split()]


@pytest.mark.parametrize(
    ("limits", "fitting"),
    [
        # Two thousand connections, those that are accepted at once, and all other files.
        ("ulimit -Sn 256 && ulimit -Hn 4112", [1000, 4112]),
        ("ulimit -Sn 4111 && ulimit -Hn 4112", [1000, 4112]),
        ("ulimit -n 3112", [746, 3112]),
        ("ulimit -Sn 256 && ulimit -Hn 1024", [224, 1024]),
    ],
)
def test_the_limit_is_raised_and_connections_fit_under_it(limits: str, fitting: list[int]) -> None:
    assert fit_under(limits) == fitting
