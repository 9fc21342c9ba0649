"""The memory of findings: what was found in which content, bounded, as long as the process runs."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence

from cinder.model.document import Json
from cinder.model.extracted_data import ExtractedData
from cinder.services.extraction.stages import ReadPage

_MAX_ENTRIES = 2_000


class FindingsMemory:
    """Holds findings, those that were asked for last."""

    def __init__(self, max_values: int) -> None:
        self._max_values = max_values
        self._held: OrderedDict[str, ExtractedData] = OrderedDict()
        self._values = 0

    def find(self, key: str) -> ExtractedData | None:
        """Return what is held; None where nothing is."""
        found = self._held.get(key)
        if found is not None:
            self._held.move_to_end(key)
        return found

    def hold(self, key: str, found: ExtractedData) -> None:
        """Hold findings, and let go of those that have not been used for longest."""
        replaced = self._held.pop(key, None)
        self._held[key] = found
        self._values += _size(found) - (_size(replaced) if replaced else 0)
        while self._held and (self._values > self._max_values or len(self._held) > _MAX_ENTRIES):
            _, oldest = self._held.popitem(last=False)
            self._values -= _size(oldest)


def findings_key(identity: str, page: ReadPage, wanted: Sequence[Json]) -> str:
    """Return what findings are held by: who found them, in what content, and what was wanted."""
    parts = [identity, page.fingerprint, *wanted]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _size(found: ExtractedData) -> int:
    return len(found.values) + len(found.conflicts) + 1
