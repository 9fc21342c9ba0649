"""A cache bounded in bytes that evicts the least recently used value first."""

import sys
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# One value takes at most this part of the room, so that a large one does not evict all others.
_MAX_VALUE_SHARE = 8


class LruCache(Generic[K, V]):
    """Keeps values by their keys; the one that was used least recently is the first to go.

    It belongs to one thread. A key must name a value for good: nothing here expires.
    """

    def __init__(self, max_bytes: int) -> None:
        """Keep at most so many bytes; with 0, nothing."""
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        """Return the value of a key, or None."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value of so many bytes, unless it takes too much of the room."""
        _, replaced = self._kept.pop(key, (None, 0))
        self._bytes -= replaced
        if size > self._max_bytes // _MAX_VALUE_SHARE:
            return
        self._kept[key] = (value, size)
        self._bytes += size
        while self._bytes > self._max_bytes:
            _, (_, removed) = self._kept.popitem(last=False)
            self._bytes -= removed


def bytes_in_memory(value: object) -> int:
    """Return about how many bytes of memory a value takes, with all that it holds."""
    total = 0
    nodes = [value]
    while nodes:
        node = nodes.pop()
        total += sys.getsizeof(node)
        if isinstance(node, Mapping):
            nodes += node.keys()
            nodes += node.values()
        elif isinstance(node, tuple | list):
            nodes += node
        elif is_dataclass(node):
            nodes += [getattr(node, field.name) for field in fields(node)]
    return total
