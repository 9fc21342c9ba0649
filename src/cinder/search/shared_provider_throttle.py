"""A provider throttle that several processes share through a locked file."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

from cinder.search.provider_throttle import ProviderThrottle


class SharedProviderThrottle:
    """A `ProviderThrottle` whose state is in a file, locked for the moment that it is looked at.

    The clock must be one that all processes share, as the event loop's is.
    """

    def __init__(self, politeness: ProviderThrottle, path: Path) -> None:
        self._throttle = politeness
        self._path = path

    def take_turn(self, now: float) -> float:
        """Return how long to wait for the turn that is taken hereby. See `ProviderThrottle`."""
        with self._shared() as politeness:
            return politeness.take_turn(now)

    def check_rest(self, now: float) -> None:
        """Let those by who may ask now. See `ProviderThrottle`."""
        with self._shared() as politeness:
            politeness.check_rest(now)

    def note_refusal(self, now: float) -> float:
        """Remember that the engine refused; return for how long it is left alone."""
        with self._shared() as politeness:
            return politeness.note_refusal(now)

    def note_answer(self) -> None:
        """Remember that the engine answered."""
        with self._shared() as politeness:
            politeness.note_answer()

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
                file.truncate(0)
                file.write(json.dumps(self._state()))

    def _state(self) -> dict[str, float]:
        names = (field.name for field in fields(ProviderThrottle) if field.name.startswith("_"))
        return {name: getattr(self._throttle, name) for name in names}
