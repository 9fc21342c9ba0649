"""The protocol of job engines: which workers are woken for a job, and when."""

from collections.abc import Awaitable, Callable
from typing import Protocol, Self, TypeAlias

# Works on a job, by its id, for a few seconds at most. Returns in how many seconds there may be
# more to do (0: at once), or None when the job is over. It must handle its own errors.
RunSlice: TypeAlias = Callable[[str], Awaitable[float | None]]


class JobEngine(Protocol):
    """Wakes workers. What is to be done, and how far it is, stands in the ledger alone.

    A message that is lost delays a job until somebody sweeps; it never loses one.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    async def wake(self, *job_ids: str, times: int = 1, after_seconds: float = 0) -> None:
        """Have up to `times` workers look after each job at once, as soon as `after_seconds`.

        However often a job is woken, no more than that look after it: who waits for a later
        moment comes sooner, and who is at work looks once more.

        Raises:
            CacheFailed: the messages could not be sent.
        """
        ...

    async def run(self, run_slice: RunSlice, *, slots: int) -> None:
        """Look after jobs as they are woken, `slots` at once, until cancelled.

        Cancelling cancels those at work and waits for their end; their jobs are left to others.
        """
        ...

    async def check(self) -> None:
        """Return if workers can be woken.

        Raises:
            CacheFailed: they cannot.
        """
        ...
