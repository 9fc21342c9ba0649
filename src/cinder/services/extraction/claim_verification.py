"""Verifies values that a caller claims, by looking up their quotes in the saved pages."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cinder.extraction.field_specs import FieldKind, FieldSpec, read_schema, schema_path
from cinder.extraction.grounding import ClaimProver, normalise_claim
from cinder.extraction.merging import merge_data
from cinder.models.document import Json
from cinder.models.extraction import (
    ClaimedValue,
    Evidence,
    ExtractedData,
    FieldValue,
    Grounding,
    Method,
)
from cinder.services.extraction.stages import ExtractionSpec, LoadedPage
from cinder.services.threads import run_in_thread

_MAX_VALUES = 5_000
_MAX_NAMED = 10
_UNKNOWN = "{path} is not a field of the schema, so that it was left out."
_KINDS: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number"}
_TYPES: Mapping[FieldKind, tuple[type, ...]] = {
    FieldKind.BOOLEAN: (bool,),
    FieldKind.INTEGER: (int,),
    FieldKind.NUMBER: (int, float),
}


async def verify_claims(
    claims: Sequence[ClaimedValue], pages: Mapping[str, LoadedPage], spec: ExtractionSpec
) -> ExtractedData:
    """Return the claimed values with their evidence on the pages, which are given by url."""
    chars = sum(len(page.markdown or "") for page in pages.values())
    return await run_in_thread(chars, _verify, claims, pages, spec)


def schema_of_claims(claims: Sequence[ClaimedValue]) -> dict[str, Json]:
    """Return a schema that claimed values match, for callers without one."""
    root: dict[str, Json] = {}
    for claim in _values_of(claims):
        node = root
        for part in claim.path:
            node = _step(node, part)
        if not node:
            node["type"] = _KINDS.get(type(claim.value), "string")
    return root or {"type": "object"}


def _step(node: dict[str, Json], part: str | int) -> dict[str, Json]:
    """Return the subschema of a part, which is created if needed."""
    if isinstance(part, int):
        node["type"] = "array"
        inner = node.setdefault("items", {})
    else:
        node["type"] = "object"
        properties = node.setdefault("properties", {})
        inner = properties.setdefault(part, {}) if isinstance(properties, dict) else {}
    return inner if isinstance(inner, dict) else {}


def _verify(
    claims: Sequence[ClaimedValue], pages: Mapping[str, LoadedPage], spec: ExtractionSpec
) -> ExtractedData:
    provers = {url: ClaimProver(page.markdown or "", page.url) for url, page in pages.items()}
    fields = dict(_scalars(read_schema(spec.schema)[0]))
    values: dict[tuple[str | int, ...], FieldValue] = {}
    unknown: dict[str, None] = {}
    for claim in _values_of(claims):
        field = fields.get(schema_path(claim.path))
        if field is None:
            unknown[schema_path(claim.path)] = None
            continue
        searched = [provers[url] for url in provers if claim.url in (None, url)]
        values[claim.path] = _check(claim, field, searched)
    warnings = tuple(_UNKNOWN.format(path=path) for path in list(unknown)[:_MAX_NAMED])
    kept = tuple(values.values())
    claimed = ExtractedData(data=spec.fields.nothing, values=kept, warnings=warnings)
    # Renumbers arrays of which not every item was claimed.
    return merge_data([claimed])


def _check(claim: ClaimedValue, field: FieldSpec, provers: Sequence[ClaimProver]) -> FieldValue:
    typed = _typed(field, claim.value)
    normalised = normalise_claim(field, typed)
    value = typed if normalised is None else normalised
    evidence = [prover.prove(field, value, claim.quote) for prover in provers]
    evidence.sort(key=lambda each: each.grounding is Grounding.UNVERIFIED)
    unproved = Evidence(method=Method.CALLER, quote=claim.quote, grounding=Grounding.UNVERIFIED)
    first = evidence[0] if evidence else unproved
    rule = first.normalization.replace("the model", "the caller")
    first = replace(first, method=Method.CALLER, normalization=rule)
    return FieldValue(path=claim.path, value=value, evidence=(first,))


def _typed(field: FieldSpec, value: Json) -> Json:
    """Return a number or boolean that was claimed as text in the type of its field."""
    if not isinstance(value, str) or field.kind not in _TYPES:
        return value
    try:
        parsed: Json = json.loads(value)
    except ValueError:
        return value
    is_finite = not isinstance(parsed, float) or math.isfinite(parsed)
    return parsed if type(parsed) in _TYPES[field.kind] and is_finite else value


def _values_of(claims: Sequence[ClaimedValue]) -> Iterator[ClaimedValue]:
    """Yield claims of single values; claims of objects and arrays are split."""
    waiting = list(reversed(claims))
    for _ in range(_MAX_VALUES):
        if not waiting:
            return
        claim = waiting.pop()
        if isinstance(claim.value, Mapping):
            inner: list[tuple[str | int, Json]] = list(claim.value.items())
        elif isinstance(claim.value, list):
            inner = list(enumerate(claim.value))
        else:
            yield claim
            continue
        waiting += [
            replace(claim, path=(*claim.path, key), value=value)
            for key, value in reversed(inner)
            if value is not None
        ]


def _scalars(spec: FieldSpec) -> Iterator[tuple[str, FieldSpec]]:
    if spec.is_scalar:
        yield spec.path, spec
    for child in spec.children:
        yield from _scalars(child)
