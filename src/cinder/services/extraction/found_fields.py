"""Lists the fields of a schema that are found or still open, and their evidence as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

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
    """The fields of a schema; an array counts as one field."""

    names: tuple[str, ...]
    arrays: frozenset[str]
    nothing: Json
    """The data if no field has a value."""


def list_fields(schema: Mapping[str, Json]) -> SchemaFields:
    """Return the fields of a schema."""
    root, _ = read_schema(schema)
    found = list(_fields_of(root))
    return SchemaFields(
        names=tuple(each.path for each in found),
        arrays=frozenset(each.path for each in found if each.kind is FieldKind.ARRAY),
        nothing=_NOTHING.get(root.kind),
    )


def _fields_of(spec: FieldSpec) -> Iterator[FieldSpec]:
    if spec.kind is not FieldKind.OBJECT:
        yield spec
        return
    for child in spec.children:
        yield from _fields_of(child)


def field_of(path: FieldPath) -> str:
    """Return the field that a value belongs to: `offers` for `offers[2].price`."""
    names = takewhile(lambda part: not isinstance(part, int), path)
    return ".".join(map(str, names))


def is_in_array(path: FieldPath) -> bool:
    """Whether a value is in an array."""
    return any(isinstance(part, int) for part in path)


def open_fields(fields: Iterable[str], found: ExtractedData) -> tuple[str, ...]:
    """Return the fields without a firm value."""
    firm = {field_of(each.path) for each in found.values if is_firm(each)}
    return tuple(field for field in fields if field not in firm)


def is_firm(value: FieldValue) -> bool:
    """Whether a value is grounded, and its label fits the field well."""
    return value.is_grounded and value.score >= WEAK_SCORE


def still_missing(candidates: Iterable[str], found: ExtractedData) -> tuple[str, ...]:
    """Return the fields without any value."""
    filled = {schema_path(each.path) for each in found.values}
    return tuple(
        field
        for field in dict.fromkeys(candidates)
        if field not in filled and not any(path.startswith(f"{field}[]") for path in filled)
    )


def describe_proof(extracted: ExtractedData) -> Iterator[dict[str, Json]]:
    """Yield the evidence of each value, one for each page."""
    for value in extracted.values:
        pages: dict[str, Evidence] = {}
        for evidence in value.evidence:
            pages.setdefault(evidence.url, evidence)
        fit: dict[str, Json] = {} if value.score >= WEAK_SCORE else {"fit": value.score}
        for evidence in pages.values():
            yield {"path": format_path(value.path), **_describe_evidence(evidence), **fit}


def describe_conflict(conflict: Conflict) -> dict[str, Json]:
    """Return a conflicting value with its evidence."""
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
    """Return the engines that found the values, and the use of the model."""
    shown: dict[str, Json] = {"engine": "+".join(engines) or ExtractionEngine.RULES}
    if usage is not None:
        shown["model"] = usage.model
        shown["usage"] = {"calls": usage.calls, "tokens": usage.tokens}
    return shown


def format_path(path: FieldPath) -> str:
    """Return the path of a value as text: `offers[0].price`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


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
