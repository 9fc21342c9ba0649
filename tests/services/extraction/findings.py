"""Findings built by hand."""

from cinder.extraction.merging import build_data
from cinder.models.document import Json
from cinder.models.extraction import (
    Evidence,
    ExtractedData,
    FieldPath,
    FieldValue,
    Grounding,
    Method,
)


def value(
    path: FieldPath,
    what: Json,
    *,
    score: float = 1.0,
    is_grounded: bool = True,
    url: str = "https://a/",
) -> FieldValue:
    grounding = Grounding.VERIFIED if is_grounded else Grounding.UNVERIFIED
    shown = Evidence(method=Method.LABEL, quote=str(what), grounding=grounding, url=url)
    return FieldValue(path=path, value=what, evidence=(shown,), score=score)


def findings(*values: FieldValue, missing: tuple[str, ...] = ()) -> ExtractedData:
    return ExtractedData(data=build_data(values, {}), values=values, missing=missing)
