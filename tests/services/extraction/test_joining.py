"""What stages found on a page, and what pages hold, becomes one."""

from cinder.services.extraction.joining import (
    join_pages,
    join_stages,
    keep_firm,
    order_by_schema,
)
from cinder.services.extraction.open_fields import SchemaFields
from tests.services.extraction.findings import findings, value


def test_a_firm_value_stays_and_another_one_is_a_conflict() -> None:
    found = findings(value(("price",), 1), missing=("name",))
    more = findings(value(("price",), 2), value(("name",), "Kettle"))
    joined = join_stages(found, more)
    assert joined.data == {"price": 1, "name": "Kettle"}
    assert [each.other.value for each in joined.conflicts] == [2]
    assert joined.missing == ()


def test_a_weak_value_gives_way_to_a_proved_one() -> None:
    found = findings(value(("maker",), "Shop", score=0.66))
    joined = join_stages(found, findings(value(("maker",), "Smith", score=0.9)))
    assert joined.data == {"maker": "Smith"}
    assert [each.other.value for each in joined.conflicts] == ["Shop"]


def test_a_weak_value_stays_where_the_other_is_not_proved() -> None:
    found = findings(value(("maker",), "Shop", score=0.66))
    more = findings(value(("maker",), "Smith", score=0.3, is_grounded=False))
    assert join_stages(found, more).data == {"maker": "Shop"}


def test_an_array_is_taken_from_one_stage_as_a_whole() -> None:
    found = findings(value(("uses", 0), "Tea"), value(("uses", 1), "Soup"))
    more = findings(value(("uses", 0), "tea and soup"))
    assert join_stages(found, more).data == {"uses": ["Tea", "Soup"]}


def test_an_array_that_fits_little_gives_way_as_a_whole() -> None:
    found = findings(value(("uses", 0), "Home", score=0.6), value(("uses", 1), "Care", score=0.6))
    more = findings(value(("uses", 0), "Tea", score=0.9))
    assert join_stages(found, more).data == {"uses": ["Tea"]}
    unproved = findings(value(("uses", 0), "Tea", score=0.3, is_grounded=False))
    assert join_stages(found, unproved).data == {"uses": ["Home", "Care"]}


def test_a_field_is_missing_if_no_page_has_it() -> None:
    first = findings(value(("name",), "Kettle"), missing=("price", "smith", "uses"))
    second = findings(value(("uses", 0), "Tea"), missing=("name", "smith"))
    joined = join_pages([first, second])
    assert joined.data == {"name": "Kettle", "uses": ["Tea"]}
    assert joined.missing == ("price", "smith")


def test_no_pages_hold_nothing() -> None:
    assert join_pages([]).data == {}


def test_what_fits_little_may_be_left_out_and_is_missing_then() -> None:
    found = findings(value(("name",), "Kettle"), value(("smith",), "Kettle", score=0.66))
    kept = keep_firm(found)
    assert (kept.data, kept.missing) == ({"name": "Kettle"}, ("smith",))


def test_fields_stand_in_the_order_of_the_schema() -> None:
    found = findings(value(("price",), 1), value(("uses", 0), "Tea"), value(("name",), "Kettle"))
    ordered = order_by_schema(
        found, SchemaFields(("name", "uses", "price"), frozenset(("uses",)), {})
    )
    assert isinstance(ordered.data, dict)
    assert list(ordered.data) == ["name", "uses", "price"]
    assert [each.path[0] for each in ordered.values] == ["name", "uses", "price"]
