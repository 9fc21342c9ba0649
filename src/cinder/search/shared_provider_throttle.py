"""A provider throttle that several processes share through a locked file."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

from cinder.search.provider_throttle import ProviderThrottle


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
