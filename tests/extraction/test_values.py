"""Texts parsed as the values of fields."""

import pytest

from cinder.extraction.field_specs import FieldSpec, read_schema
from cinder.extraction.values import ParsedValue, parse_value
from cinder.html.tree import parse_http_url
from cinder.models.document import Json


def field(schema: Json, name: str = "thing") -> FieldSpec:
    return read_schema({"properties": {name: schema}})[0].children[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$1,299.00", 1299),
        ("1.299,50 €", 1299.5),
        ("1.299 €", 1299),
        ("1.299 kg", 1.299),
        ("1 234 567", 1234567),
        ("-4.5", -4.5),
        ("4.5 out of 5", 4.5),
        ("about 12", 12),
        ("USD 45k", 45000),
        ("4.726398123", 4.726398123),
    ],
)
def test_numbers_are_read_as_pages_write_them(text: str, value: float) -> None:
    reading = parse_value(field({"type": "number"}), text, None)
    assert reading is not None
    assert reading.value == value
    assert reading.quote in text


@pytest.mark.parametrize("text", ["none", "31 January 2025", "1.2.3.4.5.6.7.8", "x" * 500 + "1"])
def test_what_is_no_number_is_not_read_as_one(text: str) -> None:
    assert parse_value(field({"type": "number"}), text, None) is None


def test_a_number_with_a_part_is_no_integer() -> None:
    assert parse_value(field({"type": "integer"}), "4.5", None) is None
    assert parse_value(field({"type": "integer"}), "4", None) == ParsedValue(4, "4")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("prepMinutes", "PT1H30M", 90),
        ("prepMinutes", "1 hr 15 min", 75),
        ("durationWeeks", "6 weeks", 6),
        ("hours", "90 minutes", 1.5),
        ("minutes", "20", 20),
    ],
)
def test_lengths_of_time_are_brought_to_the_unit_of_the_field(
    name: str, text: str, value: float
) -> None:
    reading = parse_value(field({"type": "number"}, name), text, None)
    assert reading is not None
    assert reading.value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Yes", True),
        ("✓", True),
        ("In stock", True),
        ("https://schema.org/InStock", True),
        ("Yes, with notice", True),
        ("No", False),
        ("Sold out", False),
        ("http://schema.org/OutOfStock", False),
        ("Not available", False),
    ],
)
def test_yes_and_no_are_read_in_many_words(text: str, value: bool) -> None:
    assert parse_value(field({"type": "boolean"}), text, None) == ParsedValue(
        value, text, "yes or no"
    )


def test_what_says_neither_yes_nor_no_is_not_read() -> None:
    assert parse_value(field({"type": "boolean"}), "Perhaps", None) is None


def test_members_of_an_enumeration_are_found_however_they_are_written() -> None:
    wanted = field({"enum": ["FULL_TIME", "PART_TIME"]})
    assert parse_value(wanted, "Full-time", None) == ParsedValue(
        "FULL_TIME", "Full-time", "member of the enumeration"
    )
    assert parse_value(wanted, "FULL_TIME", None) == ParsedValue("FULL_TIME", "FULL_TIME")
    assert parse_value(wanted, "Full-time or part-time", None) is None
    assert parse_value(wanted, "Freelance", None) is None


def test_dates_become_iso_and_times_are_not_made_up() -> None:
    day, moment = field({"format": "date"}), field({"format": "date-time"})
    assert parse_value(day, "31 January 2025", None) == ParsedValue(
        "2025-01-31", "31 January 2025", "ISO 8601 date"
    )
    assert parse_value(day, "2025-01-31", None) == ParsedValue("2025-01-31", "2025-01-31")
    assert parse_value(moment, "31 January 2025", None) is None
    assert parse_value(moment, "2025-01-31T10:00:00+00:00", None) is not None
    assert parse_value(day, "soon", None) is None


def test_addresses_become_absolute() -> None:
    base = parse_http_url("https://a.example/b/")
    assert parse_value(field({"format": "uri"}), "../c", base) == ParsedValue(
        "https://a.example/c", "../c", "absolute address"
    )
    assert parse_value(field({"format": "uri"}), "javascript:alert(1)", base) is None


def test_fields_of_a_telling_name_take_only_texts_of_that_form() -> None:
    assert parse_value(field({}, "email"), "Write to a.b@c.example today", None) == ParsedValue(
        "a.b@c.example", "a.b@c.example"
    )
    assert parse_value(field({}, "email"), "nobody", None) is None
    assert parse_value(field({}, "phone"), "Call +44 20 7946 0000 now", None) == ParsedValue(
        "+44 20 7946 0000", "+44 20 7946 0000"
    )
    assert parse_value(field({}, "phone"), "ask us", None) is None
    assert parse_value(field({}, "currency"), "$12", None) == ParsedValue("USD", "$", "code")


def test_long_texts_are_only_for_fields_of_prose() -> None:
    assert parse_value(field({}, "brand"), "word " * 100, None) is None
    assert parse_value(field({}, "description"), "word " * 100, None) is not None
