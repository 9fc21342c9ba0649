"""The throttle of a search engine that offers no API: the delay between requests, and backoff."""

from dataclasses import dataclass

_MAX_DOUBLINGS = 5


class ProviderThrottled(Exception):
    """The engine must not be queried for a while."""

    def __init__(self, reason: str, seconds: float) -> None:
        super().__init__(reason)
        self.seconds = seconds


@dataclass(slots=True, kw_only=True)
class ProviderThrottle:
    """Delays requests, and stops them for a while after the engine has refused one.

    Times are seconds of any monotonic clock.
    """

    delay_seconds: float
    """The least time between two requests."""
    rest_seconds: float
    """The pause after a refusal; each further refusal doubles it, up to 32 times."""
    max_wait_seconds: float
    """Requests that would wait longer than this are refused."""
    _next: float = 0
    _resting_until: float = 0
    _refusals: int = 0

    def take_turn(self, now: float) -> float:
        """Reserve the next turn; return how long to wait for it.

        Raises:
            ProviderThrottled: the engine is paused, or too many requests wait already.
        """
        self.check_rest(now)
        wait = max(0.0, self._next - now)
        if wait > self.max_wait_seconds:
            raise ProviderThrottled("too many searches wait for their turn", wait)
        self._next = now + wait + self.delay_seconds
        return wait

    def check_rest(self, now: float) -> None:
        """Return if the engine is not paused.

        Raises:
            ProviderThrottled: it is paused.
        """
        if now < self._resting_until:
            reason = "it took cinder for a machine, and is left alone since"
            raise ProviderThrottled(reason, self._resting_until - now)

    def note_refusal(self, now: float) -> float:
        """Record a refusal; return the length of the pause."""
        rest = self.rest_seconds * 2.0 ** min(self._refusals, _MAX_DOUBLINGS)
        self._refusals += 1
        self._resting_until = now + rest
        return rest

    def note_answer(self) -> None:
        """Record a response, which ends the doubling of pauses."""
        self._refusals = 0
