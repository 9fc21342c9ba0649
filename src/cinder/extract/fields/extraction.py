"""The one way from a page and a schema to values with proof, without a model."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Union

from cinder.extract.bombs import find_bomb
from cinder.extract.fields.filling import Filled, Filler
from cinder.extract.fields.gathering import gather_page
from cinder.extract.fields.grounding import Grounder
from cinder.extract.fields.markdown_gathering import gather_markdown
from cinder.extract.fields.wanted import FieldKind, read_schema
from cinder.model.document import Json
from cinder.model.extracted_data import Conflict, ExtractedData, FieldValue


@dataclass(frozen=True, slots=True)
class _Leaf:
    value: Json


Branch = dict[str | int, Union[_Leaf, "Branch"]]
_NOTHING: Mapping[FieldKind, Json] = {FieldKind.OBJECT: {}, FieldKind.ARRAY: []}


def extract_fields(
    html: str | None, markdown: str | None, *, url: str, schema: Mapping[str, Json]
) -> ExtractedData:
    """Fill a schema from a page.

    Args:
        html: the page as it came, decoded; None for what is no HTML, such as a PDF.
        markdown: what cinder saves of it; quotes are looked up here first.
        url: where the page came from.
        schema: a valid JSON Schema.
    """
    root, cuts = read_schema(schema)
    bomb = find_bomb(html) if html else None
    is_read = html is not None and bomb is None
    page = gather_page(html or "", url) if is_read else gather_markdown(markdown or "", url)
    filling = Filler(page).fill(root)
    grounder = Grounder(markdown, html, url)
    values = tuple(_value(each, grounder) for each in filling.filled)
    refused = (f"The page's markup was not read, only its text: {bomb}.",) if bomb else ()
    return ExtractedData(
        data=build_data(values, _NOTHING.get(root.kind)),
        values=values,
        missing=tuple(dict.fromkeys(filling.missing)),
        conflicts=tuple(_conflicts(filling.filled, grounder)),
        warnings=(*cuts, *refused, *page.warnings, *filling.warnings),
    )


def _value(filled: Filled, grounder: Grounder) -> FieldValue:
    best, agreeing = filled.chosen.best, filled.chosen.agreeing
    return FieldValue(
        path=filled.path,
        value=best.reading.value,
        evidence=tuple(grounder.prove(each, filled.anchor) for each in (best, *agreeing)),
        score=_shown(best.score),
    )


def _conflicts(filled: Iterable[Filled], grounder: Grounder) -> Iterable[Conflict]:
    for each in filled:
        for other in each.chosen.contrary:
            yield Conflict(
                path=each.path,
                kept=each.chosen.best.reading.value,
                other=FieldValue(
                    path=each.path,
                    value=other.reading.value,
                    evidence=(grounder.prove(other, each.anchor),),
                    score=_shown(other.score),
                ),
            )


def _shown(score: float) -> float:
    # What was made out of several places counts for more than one of them.
    return round(min(score, 1.0), 3)


def build_data(values: Iterable[FieldValue], nothing: Json = None) -> Json:
    """Return the data that values make up; `nothing` where there are none."""
    tree: Branch = {}
    for each in values:
        if not each.path:
            return each.value
        inner = tree
        for part in each.path[:-1]:
            following = inner.setdefault(part, {})
            if isinstance(following, _Leaf):
                raise TypeError(f"{each.path} leads through a value")
            inner = following
        inner[each.path[-1]] = _Leaf(each.value)
    return _plain(tree) if tree else nothing


def _plain(branch: "Branch | _Leaf") -> Json:
    """Return a branch as data: one whose keys are places is an array."""
    if isinstance(branch, _Leaf):
        return branch.value
    if all(isinstance(key, int) for key in branch):
        return [_plain(inner) for _, inner in sorted(branch.items(), key=lambda each: int(each[0]))]
    return {str(key): _plain(inner) for key, inner in branch.items()}
