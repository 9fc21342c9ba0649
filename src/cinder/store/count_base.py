"""The protocol of counts that several servers share."""

from typing import Protocol


class SharedCounts(Protocol):
    """Counts by name, each for some time.

    Every method may raise `cinder.errors.CacheFailed`.
    """

    async def add(self, name: str, amount: int, seconds: int) -> int:
        """Add to a count, which begins anew so many seconds after its first; return what it is."""
        ...

    async def read(self, name: str, *, seconds: int = ...) -> tuple[int, float]:
        """Return a count, zero where there is none, and when (in Unix time) it begins anew.

        One that ends later than after so many seconds is none: the clock was set back.
        """
        ...

    async def drop(self, name: str) -> None:
        """Begin a count anew."""
        ...

    async def drop_old(self) -> None:
        """Delete counts that are over."""
        ...
