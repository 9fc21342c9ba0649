"""The protocol of job engines: which workers are woken for a job, and when."""

from collections.abc import Awaitable, Callable
from typing import Protocol, Self, TypeAlias

# Works on a job, by its id, for a few seconds at most. Returns the seconds until there may be more
# to do (0: at once), or None when the job has ended. It must handle its own errors.
RunSlice: TypeAlias = Callable[[str], Awaitable[float | None]]


class JobEngine(Protocol):
    """Wakes workers. Jobs and their progress are stored in the ledger alone.

    A lost message delays a job until the next sweep; it never loses one.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    async def wake(self, *job_ids: str, times: int = 1, after_seconds: float = 0) -> None:
        """Have up to `times` workers run each job, in `after_seconds` at the earliest.

        However often a job is woken, no more workers than that run it: one that waits starts
        sooner, and one that is running runs the job once more.

        Raises:
            CacheFailed: the messages could not be sent.
        """
        ...

    async def run(self, run_slice: RunSlice, *, slots: int) -> None:
        """Run jobs as they are woken, `slots` at once, until cancelled.

        Cancelling cancels the running slices and waits for them; their jobs are left to others.
        """
        ...

    async def check(self) -> None:
        """Return if workers can be woken.

        Raises:
            CacheFailed: they cannot.
        """
        ...
