"""Findings of stages and pages joined, and checked against the caller's schema."""

from dataclasses import replace

from cinder.llm.schema_check import SchemaCheck
from cinder.services.extraction.found_fields import SchemaFields
from cinder.services.extraction.pipeline import (
    FindingsCache,
    drop_refused,
    findings_key,
    join_pages,
    join_stages,
    keep_firm,
    order_by_schema,
)
from cinder.services.extraction.stages import LoadedPage
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


PAGE = LoadedPage(url="https://a/", markdown="# A", text="<h1>A</h1>", content_type="text/html")


def test_what_is_beyond_the_limit_goes_the_longest_unused_first() -> None:
    memory = FindingsCache(max_values=5)
    found = findings(value(("a",), 1))
    memory.hold("first", found)
    memory.hold("second", found)
    assert memory.find("first") is found
    memory.hold("third", found)
    assert [memory.find(key) for key in ("first", "second", "third")] == [found, None, found]


def test_findings_larger_than_the_memory_are_not_held() -> None:
    memory = FindingsCache(max_values=0)
    memory.hold("key", findings(value(("a",), 1)))
    assert memory.find("key") is None


def test_the_same_key_is_held_once() -> None:
    memory = FindingsCache(max_values=4)
    for _ in range(10):
        memory.hold("key", findings(value(("a",), 1)))
    memory.hold("other", findings(value(("a",), 1)))
    assert memory.find("key") is not None


def test_content_wish_and_finder_make_the_key() -> None:
    keys = {
        findings_key("rules-1", PAGE, ("prompt", {"type": "object"})),
        findings_key("rules-2", PAGE, ("prompt", {"type": "object"})),
        findings_key("rules-1", PAGE, ("other", {"type": "object"})),
        findings_key("rules-1", PAGE, ("prompt", {"type": "array"})),
        findings_key("rules-1", replace(PAGE, text="<h1>B</h1>"), ("prompt", {"type": "object"})),
    }
    assert len(keys) == 5
    assert findings_key("rules-1", PAGE, ("prompt", {"a": 1, "b": 2})) == findings_key(
        "rules-1", replace(PAGE), ("prompt", {"b": 2, "a": 1})
    )


CHECK = SchemaCheck(
    {
        "type": "object",
        "properties": {
            "code": {"type": "string", "pattern": "^[A-Z]+$"},
            "sizes": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        },
        "required": ["code"],
    }
)


def test_a_refused_value_is_left_out_named_and_missing() -> None:
    left = drop_refused(findings(value(("code",), "abc"), value(("sizes", 0), 3)), CHECK)
    assert (left.data, left.missing) == ({"sizes": [3]}, ("code",))
    assert left.warnings[0].startswith("code: a value was left out")
    assert CHECK.problems(left.data)


def test_of_an_array_only_the_refused_items_go() -> None:
    items = [value(("sizes", n), n - 30) for n in range(60)]
    left = drop_refused(findings(value(("code",), "A"), *items), CHECK)
    assert left.data == {"code": "A", "sizes": list(range(30))}
    assert [each.path for each in left.values[1:3]] == [("sizes", 0), ("sizes", 1)]
    assert CHECK.problems(left.data) == ()


def test_what_fits_is_left_alone() -> None:
    found = findings(value(("code",), "A"))
    assert drop_refused(found, CHECK) is found
