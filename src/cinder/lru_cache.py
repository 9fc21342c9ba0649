"""A cache bounded in bytes that evicts the least recently used value first."""

import sys
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# The inverse of the largest share of the cache that one value may take.
_MAX_VALUE_SHARE = 8


class LruCache(Generic[K, V]):
    """Keeps values by key, and evicts the least recently used one first.

    It is not thread-safe. A key must always name the same value: nothing expires.
    """

    def __init__(self, max_bytes: int) -> None:
        """Keep at most `max_bytes`; 0 keeps nothing."""
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
        """Keep a value of `size` bytes, unless it would take too large a share of the cache."""
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
    """Return the approximate size of a value in memory, including everything it contains."""
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
