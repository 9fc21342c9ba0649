import subprocess
import sys

import pytest

FIT = """
import resource
from cinder.surfaces.cli.open_files import fit_connections
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
