"""Joins what stages found on a page, and what pages hold: no model decides."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from cinder.extract.fields.extraction import build_data
from cinder.extract.fields.merging import keep_values, merge_data
from cinder.model.extracted_data import ExtractedData, FieldValue
from cinder.services.extraction.open_fields import (
    SchemaFields,
    field_of,
    is_firm,
    is_in_array,
    still_missing,
)


def join_stages(found: ExtractedData, more: ExtractedData) -> ExtractedData:
    """Return what one stage found and what a later one adds to it, for the same page.

    A firm value stays. A weak one gives way to a proved one of the later stage. An array is taken
    from one stage as a whole, since items of two ways of reading are never quite the same.
    """
    more = keep_values(more, _outside(more.values, _arrays_of(found.values, firm=True)))
    proved = (each for each in more.values if each.is_grounded)
    taken_over = _arrays_of(proved, firm=False)
    found = keep_values(found, _outside(found.values, taken_over))
    more = keep_values(more, _outside(more.values, _arrays_of(found.values, firm=False)))
    firm = keep_values(found, [each for each in found.values if is_firm(each)])
    weak = keep_values(found, [each for each in found.values if not is_firm(each)])
    # Where nothing was dropped, both would be all of it.
    parts = [firm, more] if len(firm.values) == len(found.values) else [firm, more, weak]
    return _with_missing(merge_data(parts), (found, more))


def join_pages(pages: Sequence[ExtractedData]) -> ExtractedData:
    """Return the data of several pages, in their order."""
    return _with_missing(merge_data(pages), pages) if pages else ExtractedData(data={})


def keep_firm(found: ExtractedData) -> ExtractedData:
    """Return the data without what does not quite fit; those fields count as missing."""
    kept = keep_values(found, [each for each in found.values if is_firm(each)])
    named = (*found.missing, *(field_of(each.path) for each in found.values))
    return replace(kept, missing=still_missing(named, kept))


def order_by_schema(found: ExtractedData, fields: SchemaFields) -> ExtractedData:
    """Return the data with its fields in the order in which the schema has them."""
    places: Mapping[str, int] = {field: place for place, field in enumerate(fields.names)}
    values = sorted(found.values, key=lambda each: places.get(field_of(each.path), len(places)))
    return replace(found, data=build_data(values, fields.nothing), values=tuple(values))


def _with_missing(joined: ExtractedData, parts: Iterable[ExtractedData]) -> ExtractedData:
    named = [field for part in parts for field in part.missing]
    return replace(joined, missing=still_missing(named, joined))


def _arrays_of(values: Iterable[FieldValue], *, firm: bool) -> set[str]:
    return {
        field_of(each.path)
        for each in values
        if is_in_array(each.path) and (is_firm(each) or not firm)
    }


def _outside(values: Iterable[FieldValue], fields: set[str]) -> list[FieldValue]:
    return [
        each for each in values if not is_in_array(each.path) or field_of(each.path) not in fields
    ]
