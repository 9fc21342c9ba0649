"""The pace at which hosts are asked: slower where they say so or labour, faster again after."""

from dataclasses import dataclass

_TOO_MANY, _UNAVAILABLE = 429, 503
_FIRST_DELAY_MS = 1_000
_LONGEST_DELAY_MS = 60_000
# A host that takes longer than this is given time to breathe between two requests.
_SLOW_MS = 2_000
_GOOD_ANSWERS_TO_SPEED_UP = 10


@dataclass(slots=True)
class HostPace:
    """How one host has answered lately, as far as this process knows."""

    least_delay_ms: int = 0
    """What the site or the owner asks for."""
    delay_ms: int = 0
    good_answers: int = 0

    def note(self, status_code: int, spent_ms: int) -> int | None:
        """Take in an answer; return the time between requests that it asks for, if it changed."""
        if status_code in (_TOO_MANY, _UNAVAILABLE):
            return self.slow_down()
        if spent_ms > _SLOW_MS:
            return self._set(max(self.delay_ms, min(spent_ms // 2, _LONGEST_DELAY_MS)))
        self.good_answers += 1
        if self.good_answers < _GOOD_ANSWERS_TO_SPEED_UP or self.delay_ms <= self.least_delay_ms:
            return None
        return self._set(self.delay_ms // 2 if self.delay_ms > _FIRST_DELAY_MS // 4 else 0)

    def slow_down(self) -> int | None:
        """Double the time between requests; return it, if it changed."""
        return self._set(min(max(self.delay_ms * 2, _FIRST_DELAY_MS), _LONGEST_DELAY_MS))

    def _set(self, delay_ms: int) -> int | None:
        self.good_answers = 0
        delay_ms = max(delay_ms, self.least_delay_ms)
        if delay_ms == self.delay_ms:
            return None
        self.delay_ms = delay_ms
        return delay_ms
