"""The throttle of a search engine without an API: delays and backoff, in one process or several."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

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


class SharedProviderThrottle:
    """A `ProviderThrottle` whose state is in a file, which is locked during each call.

    The clock must be one that all processes share, as the event loop's is.
    """

    def __init__(self, throttle: ProviderThrottle, path: Path) -> None:
        self._throttle = throttle
        self._path = path

    def take_turn(self, now: float) -> float:
        """Reserve the next turn; return how long to wait for it. See `ProviderThrottle`."""
        with self._shared() as throttle:
            return throttle.take_turn(now)

    def check_rest(self, now: float) -> None:
        """Return if the engine is not paused. See `ProviderThrottle`."""
        with self._shared() as throttle:
            throttle.check_rest(now)

    def note_refusal(self, now: float) -> float:
        """Record a refusal; return the length of the pause."""
        with self._shared() as throttle:
            return throttle.note_refusal(now)

    def note_answer(self) -> None:
        """Record a response, which ends the doubling of pauses."""
        with self._shared() as throttle:
            throttle.note_answer()

    @contextmanager
    def _shared(self) -> Iterator[ProviderThrottle]:
        import fcntl  # noqa: PLC0415 - not every system has it

        with self._path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            for name, value in json.loads(file.read() or "{}").items():
                setattr(self._throttle, name, value)
            try:
                yield self._throttle
            finally:
                names = [it.name for it in fields(ProviderThrottle) if it.name.startswith("_")]
                file.truncate(0)
                file.write(json.dumps({name: getattr(self._throttle, name) for name in names}))
