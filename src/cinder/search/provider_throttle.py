"""The throttle of a search engine that offers no API: the delay between requests, and backoff."""

from dataclasses import dataclass

_MAX_DOUBLINGS = 5


class ProviderThrottled(Exception):
    """The engine must be left alone for a while."""

    def __init__(self, reason: str, seconds: float) -> None:
        super().__init__(reason)
        self.seconds = seconds


@dataclass(slots=True, kw_only=True)
class ProviderThrottle:
    """Spaces requests out, and leaves an engine alone after it has refused one.

    Moments are seconds of any clock that only goes forward.
    """

    delay_seconds: float
    """The least time between two requests."""
    rest_seconds: float
    """How long it is left alone after a refusal; each further one doubles that, up to 32 times."""
    max_wait_seconds: float
    """Beyond this a request does not wait for its turn."""
    _next: float = 0
    _resting_until: float = 0
    _refusals: int = 0

    def take_turn(self, now: float) -> float:
        """Return how long to wait for the turn that is taken hereby.

        Raises:
            NotYet: it is being left alone, or too many wait already.
        """
        self.check_rest(now)
        wait = max(0.0, self._next - now)
        if wait > self.max_wait_seconds:
            raise ProviderThrottled("too many searches wait for their turn", wait)
        self._next = now + wait + self.delay_seconds
        return wait

    def check_rest(self, now: float) -> None:
        """Let those by who may ask now.

        Raises:
            NotYet: the engine is being left alone.
        """
        if now < self._resting_until:
            reason = "it took cinder for a machine, and is left alone since"
            raise ProviderThrottled(reason, self._resting_until - now)

    def note_refusal(self, now: float) -> float:
        """Remember that the engine refused; return for how long it is left alone."""
        rest = self.rest_seconds * 2.0 ** min(self._refusals, _MAX_DOUBLINGS)
        self._refusals += 1
        self._resting_until = now + rest
        return rest

    def note_answer(self) -> None:
        """Remember that the engine answered."""
        self._refusals = 0
