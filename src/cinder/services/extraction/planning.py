"""Plans what to ask a model: a search for each named field of a schema."""

import re
from collections.abc import Iterator, Mapping, Sequence

from cinder.extract.fields.wanted import FieldKind, Wanted, read_schema
from cinder.model.document import Json
from cinder.model.extracted_data import Path
from cinder.services.extraction.searches import ListSearch, ScalarSearch, Search

# The narrowest that servers take: letters, figures and underscores, at most 64.
_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_]+")
_MAX_KEY_CHARS = 56
_VALUE = "value"


def plan_searches(
    schema: Mapping[str, Json], names: Sequence[str]
) -> tuple[list[Search], tuple[str, ...]]:
    """Return a search for each named field of a schema, and the names that cannot be asked for.

    A name is a place in the schema: `price`, `address.city`, `offers` or `offers[]`. Of an array
    all items are asked for, even if the name is that of something in them.
    """
    root, _ = read_schema(schema)
    keys = _Keys()
    searches: list[Search] = []
    known: set[str] = set()
    for wanted, path in _leaves(root, ()):
        asked = [name for name in names if _is_meant(wanted, name)]
        if asked and (search := _search(wanted, path, keys)):
            known.update(asked)
            searches.append(search)
    return searches, tuple(name for name in dict.fromkeys(names) if name not in known)


def _leaves(wanted: Wanted, path: Path) -> Iterator[tuple[Wanted, Path]]:
    """Yield what is no object of fields, with its place."""
    if wanted.kind is not FieldKind.OBJECT:
        yield wanted, path
        return
    for child in wanted.children:
        yield from _leaves(child, (*path, child.name))


def _is_meant(wanted: Wanted, name: str) -> bool:
    if wanted.kind is FieldKind.ARRAY and name.startswith(f"{wanted.path}[]"):
        return True
    return name == wanted.path or wanted.path.startswith(f"{name}.")


def _search(wanted: Wanted, path: Path, keys: "_Keys") -> Search | None:
    if wanted.is_scalar:
        key = keys.take(wanted.path)
        return ScalarSearch(key=key, name=wanted.path, wanted=wanted, path=path)
    columns = dict(_columns(wanted.item))
    if not columns:
        return None
    key = keys.take(wanted.path)
    return ListSearch(key=key, name=wanted.path, wanted=wanted, path=path, columns=columns)


def _columns(item: Wanted) -> Iterator[tuple[str, tuple[Wanted, Path]]]:
    """Yield the values of an array's item by their names; arrays in arrays are not asked for."""
    if item.is_scalar:
        yield _VALUE, (item, ())
        return
    keys = _Keys("quote")
    for wanted, path in _leaves(item, ()):
        if wanted.is_scalar:
            yield keys.take("_".join(map(str, path))), (wanted, path)


class _Keys:
    """Gives each field a name in the answer that no other has."""

    def __init__(self, *taken: str) -> None:
        self._taken = set(taken)

    def take(self, wanted: str) -> str:
        base = _NOT_IN_KEYS.sub("_", wanted).strip("_")[:_MAX_KEY_CHARS] or "field"
        key, number = base, 1
        while key in self._taken:
            number += 1
            key = f"{base}_{number}"
        self._taken.add(key)
        return key
