"""Verifies values that a caller claims: each is looked up in the saved page by its quote."""

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
_MAX_TOLD = 10
_UNKNOWN = "{path} is not a field of the schema, so that it was left out."
_KINDS: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number"}
_TYPES: Mapping[FieldKind, tuple[type, ...]] = {
    FieldKind.BOOLEAN: (bool,),
    FieldKind.INTEGER: (int,),
    FieldKind.NUMBER: (int, float),
}


async def verify_claims(
    claims: Sequence[ClaimedValue], pages: Mapping[str, LoadedPage], wish: ExtractionSpec
) -> ExtractedData:
    """Return the claimed values with what the pages say of them; pages are by their urls."""
    chars = sum(len(page.markdown or "") for page in pages.values())
    return await run_in_thread(chars, _verify, claims, pages, wish)


def schema_of_claims(claims: Sequence[ClaimedValue]) -> dict[str, Json]:
    """Return a schema that the claimed values match, for callers who have none."""
    root: dict[str, Json] = {}
    for claim in _values_of(claims):
        node = root
        for part in claim.path:
            node = _step(node, part)
        if not node:
            node["type"] = _KINDS.get(type(claim.value), "string")
    return root or {"type": "object"}


def _step(node: dict[str, Json], part: str | int) -> dict[str, Json]:
    """Return what the schema says beneath a node, made where there is nothing yet."""
    if isinstance(part, int):
        node["type"] = "array"
        inner = node.setdefault("items", {})
    else:
        node["type"] = "object"
        properties = node.setdefault("properties", {})
        inner = properties.setdefault(part, {}) if isinstance(properties, dict) else {}
    return inner if isinstance(inner, dict) else {}


def _verify(
    claims: Sequence[ClaimedValue], pages: Mapping[str, LoadedPage], wish: ExtractionSpec
) -> ExtractedData:
    provers = {url: ClaimProver(page.markdown or "", page.url) for url, page in pages.items()}
    fields = dict(_scalars(read_schema(wish.schema)[0]))
    values: dict[tuple[str | int, ...], FieldValue] = {}
    unknown: dict[str, None] = {}
    for claim in _values_of(claims):
        field = fields.get(schema_path(claim.path))
        if field is None:
            unknown[schema_path(claim.path)] = None
            continue
        asked = [provers[url] for url in provers if claim.url in (None, url)]
        values[claim.path] = _check(claim, field, asked)
    warnings = tuple(_UNKNOWN.format(path=path) for path in list(unknown)[:_MAX_TOLD])
    kept = tuple(values.values())
    claimed = ExtractedData(data=wish.fields.nothing, values=kept, warnings=warnings)
    # Closes up arrays of which not every place was claimed.
    return merge_data([claimed])


def _check(claim: ClaimedValue, field: FieldSpec, provers: Sequence[ClaimProver]) -> FieldValue:
    said = _typed(field, claim.value)
    normalised = normalise_claim(field, said)
    value = said if normalised is None else normalised
    evidence = [_prove(prover, field, value, claim.quote) for prover in provers]
    evidence.sort(key=lambda each: each.grounding is Grounding.UNVERIFIED)
    shown = evidence[:1] or [
        Evidence(method=Method.CALLER, quote=claim.quote, grounding=Grounding.UNVERIFIED)
    ]
    return FieldValue(path=claim.path, value=value, evidence=tuple(shown))


def _typed(field: FieldSpec, value: Json) -> Json:
    """Return a number, true or false that was claimed as text as what the field wants."""
    if not isinstance(value, str) or field.kind not in _TYPES:
        return value
    try:
        read: Json = json.loads(value)
    except ValueError:
        return value
    is_finite = not isinstance(read, float) or math.isfinite(read)
    return read if type(read) in _TYPES[field.kind] and is_finite else value


def _prove(prover: ClaimProver, field: FieldSpec, value: Json, quote: str) -> Evidence:
    shown = prover.prove(field, value, quote)
    rule = shown.normalization.replace("the model", "the caller")
    return replace(shown, method=Method.CALLER, normalization=rule)


def _values_of(claims: Sequence[ClaimedValue]) -> Iterator[ClaimedValue]:
    """Yield the claims of single values that claims of objects and arrays consist of."""
    waiting = list(reversed(claims))
    for _ in range(_MAX_VALUES):
        if not waiting:
            return
        claim = waiting.pop()
        inner = _parts_of(claim.value)
        if inner is None:
            yield claim
        else:
            waiting += [
                replace(claim, path=(*claim.path, key), value=value)
                for key, value in reversed(inner)
                if value is not None
            ]


def _parts_of(value: Json) -> list[tuple[str | int, Json]] | None:
    if isinstance(value, Mapping):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else None


def _scalars(wanted: FieldSpec) -> Iterator[tuple[str, FieldSpec]]:
    if wanted.is_scalar:
        yield wanted.path, wanted
    for child in wanted.children:
        yield from _scalars(child)
