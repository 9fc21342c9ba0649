"""A record as schema.org data: for JSON-LD scripts."""

from collections.abc import Sequence

from cinder.models.document import Json
from tests.extraction.pages.facts import Fact, FactList, Record


def record_data(record: Record) -> dict[str, Json]:
    data: dict[str, Json] = {"@type": record.schema_type}
    for fact in (record.heading, *record.facts):
        put(data, fact.prop.split("."), _said(fact))
    for each in record.lists:
        put(
            data,
            each.prop.split("."),
            [*each.texts, *(_record_data(each, item) for item in each.records)],
        )
    return data


def _said(fact: Fact) -> Json:
    if fact.name == "":
        return fact.texts[0]
    return fact.value if fact.machine is None else fact.machine


def _record_data(each: FactList, item: Sequence[Fact]) -> Json:
    data: dict[str, Json] = {"@type": each.item_type}
    for fact in item:
        put(data, fact.prop.split("."), _said(fact))
    return data


_TYPES = {
    "offers": "Offer",
    "brand": "Brand",
    "aggregateRating": "AggregateRating",
    "location": "Place",
    "address": "PostalAddress",
    "organizer": "Organization",
    "worksFor": "Organization",
    "hiringOrganization": "Organization",
    "author": "Person",
    "mainEntity": "ItemList",
    "nutrition": "NutritionInformation",
    "baseSalary": "MonetaryAmount",
    "instructor": "Person",
    "manufacturer": "Organization",
    "value": "QuantitativeValue",
    "jobLocation": "Place",
}


def type_of(prop: str) -> str:
    return _TYPES.get(prop, "Thing")


def put(data: dict[str, Json], path: Sequence[str], value: Json) -> None:
    if len(path) == 1:
        data[path[0]] = value
        return
    inner = data.setdefault(path[0], {"@type": type_of(path[0])})
    assert isinstance(inner, dict)
    put(inner, path[1:], value)
