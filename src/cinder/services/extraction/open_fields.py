"""Which fields of a schema are filled, and which are still open."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cinder.extract.fields.wanted import FieldKind, Wanted, read_schema, schema_path
from cinder.model.document import Json
from cinder.model.extracted_data import ExtractedData, FieldValue, Path

WEAK_SCORE = 0.7

_NOTHING: Mapping[FieldKind, Json] = {FieldKind.OBJECT: {}, FieldKind.ARRAY: []}


@dataclass(frozen=True, slots=True)
class SchemaFields:
    """The fields of a schema, an array being one of them, whatever it holds."""

    names: tuple[str, ...]
    arrays: frozenset[str]
    nothing: Json
    """The data where no field has a value."""


def list_fields(schema: Mapping[str, Json]) -> SchemaFields:
    """Return the fields of a schema."""
    root, _ = read_schema(schema)
    found = list(_fields_of(root))
    return SchemaFields(
        names=tuple(each.path for each in found),
        arrays=frozenset(each.path for each in found if each.kind is FieldKind.ARRAY),
        nothing=_NOTHING.get(root.kind),
    )


def _fields_of(wanted: Wanted) -> Iterator[Wanted]:
    if wanted.kind is not FieldKind.OBJECT:
        yield wanted
        return
    for child in wanted.children:
        yield from _fields_of(child)


def field_of(path: Path) -> str:
    """Return which field a value belongs to: `offers` for `offers[2].price`."""
    names = []
    for part in path:
        if isinstance(part, int):
            break
        names.append(part)
    return ".".join(names)


def is_in_array(path: Path) -> bool:
    """Whether a value is one of an array's, or stands beneath one."""
    return any(isinstance(part, int) for part in path)


def open_fields(fields: Iterable[str], found: ExtractedData) -> tuple[str, ...]:
    """Return those fields of which there is no value, or none that can be relied on."""
    firm = {field_of(each.path) for each in found.values if is_firm(each)}
    return tuple(field for field in fields if field not in firm)


def is_firm(value: FieldValue) -> bool:
    """Whether a value is proved, and fits what it is taken for."""
    return value.is_grounded and value.score >= WEAK_SCORE


def still_missing(candidates: Iterable[str], found: ExtractedData) -> tuple[str, ...]:
    """Return which of the fields have no value at all."""
    filled = {schema_path(each.path) for each in found.values}
    return tuple(
        field
        for field in dict.fromkeys(candidates)
        if field not in filled and not any(path.startswith(f"{field}[]") for path in filled)
    )
