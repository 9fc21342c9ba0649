"""A job's numbers: what they are called in its row, and how they are counted up.

They stand in the job's row, which every writer of its URLs locks, and change in the transaction
that changes the URLs: they are as true as the rows are, and cost the same to read of any job.
"""

from collections import Counter
from dataclasses import dataclass, field

from cinder.model.job import Fate
from cinder.store.joining import JointSum, Stage
from cinder.store.procedure import Procedure, Row

FATE_COLUMNS = {
    Fate.FETCHED: "fetched",
    Fate.FAILED: "failed",
    Fate.DISALLOWED: "disallowed",
    Fate.OUTSIDE: "outside",
    Fate.DUPLICATE: "duplicates",
    Fate.TRAP: "traps",
    Fate.LEFT: "left_out",
}

_NUMBERS = ("found", "bytes_fetched", "too_deep", *FATE_COLUMNS.values())
_SUMS = ", ".join(f"{name} = {name} + ${place}" for place, name in enumerate(_NUMBERS, start=2))
_COUNT = JointSum(Stage.COUNT, f"UPDATE webhook.jobs SET {_SUMS} WHERE id = $1")  # noqa: S608 - ours


@dataclass(slots=True)
class Tally:
    """What a transaction adds to a job's numbers."""

    found: int = 0
    size: int = 0
    """Of what was fetched, in bytes."""
    too_deep: int = 0
    fates: Counter[Fate] = field(default_factory=Counter)


def count_up(job_id: str, tally: Tally) -> Procedure[None]:
    """Add to a job's numbers."""
    fates = (tally.fates[fate] for fate in FATE_COLUMNS)
    numbers = (tally.found, tally.size, tally.too_deep, *fates)
    if any(numbers):
        yield _COUNT.add(job_id, *numbers)


def read_fates(row: Row) -> dict[Fate, int]:
    """Return how many URLs of a job have which fate, by its row."""
    return {fate: row[name] for fate, name in FATE_COLUMNS.items() if row[name]}
