"""Which fields of a schema were found or are still open, and their proof as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cinder.extraction.field_specs import FieldKind, FieldSpec, read_schema, schema_path
from cinder.models.document import Json
from cinder.models.extraction import (
    Conflict,
    Evidence,
    ExtractedData,
    ExtractionEngine,
    FieldPath,
    FieldValue,
    ModelUsage,
)

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


def _fields_of(wanted: FieldSpec) -> Iterator[FieldSpec]:
    if wanted.kind is not FieldKind.OBJECT:
        yield wanted
        return
    for child in wanted.children:
        yield from _fields_of(child)


def field_of(path: FieldPath) -> str:
    """Return which field a value belongs to: `offers` for `offers[2].price`."""
    names = []
    for part in path:
        if isinstance(part, int):
            break
        names.append(part)
    return ".".join(names)


def is_in_array(path: FieldPath) -> bool:
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


def describe_proof(extracted: ExtractedData) -> Iterator[dict[str, Json]]:
    """Yield what shows each value; where several pages do, each of them."""
    for value in extracted.values:
        pages: dict[str, Evidence] = {}
        for evidence in value.evidence:
            pages.setdefault(evidence.url, evidence)
        fit: dict[str, Json] = {} if value.score >= WEAK_SCORE else {"fit": value.score}
        for evidence in pages.values():
            yield {"path": format_path(value.path), **_describe_evidence(evidence), **fit}


def describe_conflict(conflict: Conflict) -> dict[str, Json]:
    """Return what another place says, and what shows that."""
    shown: dict[str, Json] = {
        "path": format_path(conflict.path),
        "kept": conflict.kept,
        "other": conflict.other.value,
    }
    evidence = conflict.other.evidence
    return shown | (_describe_evidence(evidence[0]) if evidence else {})


def describe_engines(
    engines: Sequence[ExtractionEngine], usage: ModelUsage | None
) -> dict[str, Json]:
    """Return what found the values, and what that took."""
    shown: dict[str, Json] = {"engine": "+".join(engines) or ExtractionEngine.RULES}
    if usage is not None:
        shown["model"] = usage.model
        shown["usage"] = {"calls": usage.calls, "tokens": usage.tokens}
    return shown


def format_path(path: FieldPath) -> str:
    """Return where a value stands, as one writes it: `offers[0].price`."""
    told = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return told.removeprefix(".")


def _describe_evidence(evidence: Evidence) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "grounding": evidence.grounding,
        "method": evidence.method,
        "url": evidence.url,
        "quote": evidence.quote,
    }
    if evidence.text is not None:
        shown |= {"text": evidence.text, "start": evidence.start, "end": evidence.end}
    if evidence.label:
        shown["label"] = evidence.label
    if evidence.normalization:
        shown["rule"] = evidence.normalization
    return shown
