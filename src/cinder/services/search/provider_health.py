"""The health of providers: who failed lately, and who asked to be left alone."""

import time
from collections.abc import Callable

REMEMBERED_SECONDS = 60.0
_LONGEST_PAUSE_SECONDS = 3_600.0


class ProviderHealth:
    """Remembers failures for a while."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failing_until: dict[str, float] = {}
        self._paused_until: dict[str, float] = {}

    def note_success(self, name: str) -> None:
        """Forget what was wrong: it has answered."""
        self._failing_until.pop(name, None)
        self._paused_until.pop(name, None)

    def note_failure(self, name: str, retry_after_seconds: float | None = None) -> None:
        """Remember a failure, and for how long the provider wants no more requests."""
        now = self._clock()
        self._failing_until[name] = now + REMEMBERED_SECONDS
        if retry_after_seconds is not None and retry_after_seconds > 0:
            pause = min(retry_after_seconds, _LONGEST_PAUSE_SECONDS)
            self._paused_until[name] = now + pause

    def is_healthy(self, name: str) -> bool:
        """Whether it has not failed lately."""
        return self._failing_until.get(name, 0.0) <= self._clock() and not self.pause_left(name)

    def pause_left(self, name: str) -> float:
        """Return for how many seconds it is not to be asked at all."""
        return max(0.0, self._paused_until.get(name, 0.0) - self._clock())
