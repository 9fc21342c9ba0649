"""Findings made by hand, for tests of what is done with them."""

from cinder.extract.fields.extraction import build_data
from cinder.model.document import Json
from cinder.model.extracted_data import (
    Evidence,
    ExtractedData,
    FieldValue,
    Grounding,
    Method,
    Path,
)


def value(
    path: Path, what: Json, *, score: float = 1.0, is_grounded: bool = True, url: str = "https://a/"
) -> FieldValue:
    grounding = Grounding.VERIFIED if is_grounded else Grounding.UNVERIFIED
    shown = Evidence(method=Method.LABEL, quote=str(what), grounding=grounding, url=url)
    return FieldValue(path=path, value=what, evidence=(shown,), score=score)


def findings(*values: FieldValue, missing: tuple[str, ...] = ()) -> ExtractedData:
    return ExtractedData(data=build_data(values, {}), values=values, missing=missing)
