"""Merges the data of several pages or stages, and drops values without proof."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cinder.extraction.field_specs import schema_path
from cinder.models.document import Json
from cinder.models.extraction import Conflict, ExtractedData, FieldPath, FieldValue

MAX_EVIDENCE = 10


@dataclass(frozen=True, slots=True)
class _Held:
    """A value, and those that contradict it."""

    value: FieldValue
    contrary: tuple[FieldValue, ...] = ()


Node: TypeAlias = "_Held | dict[str | int, Node]"
"""A value, or a node for each name of an object or each index of an array."""


def merge_data(pages: Sequence[ExtractedData]) -> ExtractedData:
    """Merge the data of pages: the first grounded value of a field counts, arrays are joined.

    Equal values keep the evidence of all their pages; values that differ become conflicts.
    """
    trees = [_tree(page) for page in pages]
    # In pairs: merging one page after the other would be quadratic.
    while len(trees) > 1:
        pairs = [trees[index : index + 2] for index in range(0, len(trees), 2)]
        trees = [_merged(*pair) if len(pair) > 1 else pair[0] for pair in pairs]
    nothing = next((page.data for page in pages if page.data in ({}, [])), None)
    # A field is missing if every page lacks it, alone or with its whole array.
    missing = [
        path
        for path in dict.fromkeys(path for page in pages for path in page.missing)
        if all(
            path in page.missing or any(path.startswith(f"{other}[]") for other in page.missing)
            for page in pages
        )
    ]
    return replace(
        _to_data(trees[0] if trees else {}, nothing),
        missing=tuple(missing),
        warnings=tuple(dict.fromkeys(each for page in pages for each in page.warnings)),
    )


def keep_grounded(extracted: ExtractedData) -> ExtractedData:
    """Return the data without ungrounded values; their fields count as missing."""
    kept = tuple(each for each in extracted.values if each.is_grounded)
    if len(kept) == len(extracted.values):
        return extracted
    left = keep_values(extracted, kept)
    found = {schema_path(each.path) for each in left.values}
    lost = dict.fromkeys(schema_path(each.path) for each in extracted.values)
    return replace(
        left, missing=(*extracted.missing, *(path for path in lost if path not in found))
    )


def keep_values(extracted: ExtractedData, kept: Iterable[FieldValue]) -> ExtractedData:
    """Return the data with only these of its values; arrays are renumbered."""
    left = replace(extracted, values=tuple(kept))
    if len(left.values) == len(extracted.values):
        return extracted
    data = _to_data(_tree(left), [] if isinstance(extracted.data, list) else {})
    return replace(data, missing=extracted.missing, warnings=extracted.warnings)


def _to_data(tree: Node, nothing: Json) -> ExtractedData:
    held = list(_leaves(_closed_up(tree), ()))
    values = tuple(each.value for each in held)
    conflicts: list[Conflict] = []
    for each in held:
        path, kept = each.value.path, each.value.value
        seen = {_key(_Held(each.value))}
        for other in each.contrary:
            if (key := _key(_Held(other))) not in seen:
                seen.add(key)
                conflicts.append(Conflict(path=path, kept=kept, other=replace(other, path=path)))
    data = build_data(values, nothing)
    return ExtractedData(data=data, values=values, conflicts=tuple(conflicts))


def _tree(page: ExtractedData) -> Node:
    contrary: dict[FieldPath, list[FieldValue]] = {}
    for conflict in page.conflicts:
        contrary.setdefault(conflict.path, []).append(conflict.other)
    root: dict[str | int, Node] = {}
    for value in page.values:
        held = _Held(value, tuple(contrary.get(value.path, ())))
        if not value.path:
            return held
        inner = root
        for part in value.path[:-1]:
            following = inner.setdefault(part, {})
            if isinstance(following, _Held):
                break
            inner = following
        inner[value.path[-1]] = held
    return root


def _merged(one: Node, other: Node) -> Node:
    if isinstance(one, _Held) and isinstance(other, _Held):
        if _key(one) == _key(other):
            evidence = (*one.value.evidence, *other.value.evidence)[:MAX_EVIDENCE]
            return _Held(replace(one.value, evidence=evidence), (*one.contrary, *other.contrary))
        if other.value.is_grounded and not one.value.is_grounded:
            one, other = other, one
        return _Held(one.value, (*one.contrary, other.value, *other.contrary))
    if isinstance(one, _Held) or isinstance(other, _Held):
        # With one schema, only one of them is a container, and it is empty: a page without values.
        return one or other
    if _is_array(one) or _is_array(other):
        # Items in both arrays occur once, with the evidence of both.
        items: dict[str, Node] = {}
        for item in (*one.values(), *other.values()):
            key = _key(item)
            items[key] = _merged(items[key], item) if key in items else item
        return dict(enumerate(items.values()))
    return {
        key: _merged(one[key], other[key]) if key in one and key in other else either[key]
        for either in ({**other, **one},)
        for key in dict.fromkeys((*one, *other))
    }


def _closed_up(node: Node) -> Node:
    """Renumber arrays from which items were removed."""
    if isinstance(node, _Held):
        return node
    if _is_array(node):
        return {index: _closed_up(node[key]) for index, key in enumerate(sorted(node, key=int))}
    return {key: _closed_up(item) for key, item in node.items()}


def _is_array(node: dict[str | int, Node]) -> bool:
    return bool(node) and all(isinstance(key, int) for key in node)


def _key(node: Node) -> str:
    """Return a key that equal values share, regardless of case."""
    if isinstance(node, _Held):
        return json.dumps(node.value.value, ensure_ascii=False).casefold()
    return json.dumps(sorted((str(key), _key(item)) for key, item in node.items()))


def _leaves(node: Node, path: FieldPath) -> Iterator[_Held]:
    """Yield the values of a tree, each with its new path."""
    if isinstance(node, _Held):
        yield replace(node, value=replace(node.value, path=path))
        return
    for key, item in node.items():
        yield from _leaves(item, (*path, key))


def build_data(values: Iterable[FieldValue], nothing: Json = None) -> Json:
    """Return the data that values make up; `nothing` if there are none."""
    tree: dict[str | int, Node] = {}
    for value in values:
        if not value.path:
            return value.value
        inner = tree
        for part in value.path[:-1]:
            following = inner.setdefault(part, {})
            if isinstance(following, _Held):
                raise TypeError(f"{value.path} leads through a value")
            inner = following
        inner[value.path[-1]] = _Held(value)
    return _plain(tree) if tree else nothing


def _plain(node: Node) -> Json:
    """Return a node as data: one whose keys are indices is an array."""
    if isinstance(node, _Held):
        return node.value.value
    if _is_array(node):
        return [_plain(node[key]) for key in sorted(node, key=int)]
    return {str(key): _plain(inner) for key, inner in node.items()}
