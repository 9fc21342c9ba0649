import pytest

from cinder.extract.fields.claims import ClaimProver, normalise_claim
from cinder.extract.fields.wanted import Wanted, read_schema
from cinder.model.document import Json
from cinder.model.extracted_data import Evidence, Grounding

URL = "https://example.com/"
PAGE = (
    "# Ember\n\nMade by **Ada** Byron in 1,250 party hats; art is free. Total: 1,250.00 EUR.\n\n"
    "DOE, Jane wrote it on 5 March 2024. Code 12. It has 112 parts.\n\nCode 12 again."
)


def wanted(**schema: Json) -> Wanted:
    return read_schema({"properties": {"field": schema}})[0].children[0]


def prove(value: Json, quote: str, *within: tuple[int, int], **schema: Json) -> Evidence:
    shown = ClaimProver(PAGE, URL).prove(wanted(**schema), value, quote, within)
    if shown.start is not None:
        assert PAGE[shown.start : shown.end] == shown.quote
    return shown


def test_a_value_in_its_quote_is_verified_at_its_own_place() -> None:
    shown = prove("Code 12", "Code 12. It has", type="string")
    assert (shown.grounding, shown.quote) == (Grounding.VERIFIED, "Code 12")


def test_the_place_is_in_what_was_read_if_it_stands_there_too() -> None:
    later = PAGE.rindex("Code 12")
    assert prove(12, "Code 12", type="number").start == PAGE.index("12.")
    assert prove(12, "Code 12", (later, len(PAGE)), type="number").start == later + 5


@pytest.mark.parametrize(
    ("value", "quote", "kind", "rule"),
    [
        (1250, "Total: 1,250.00 EUR", "number", "amount of money"),
        ("Ada Byron", "Made by **Ada** Byron", "string", "text without markup"),
        ("Jane Doe", "DOE, Jane wrote it", "string", "words of the quote"),
        (True, "art is free", "boolean", "as the model reads the quote"),
    ],
)
def test_what_follows_from_the_quote_is_normalized_by_a_rule(
    value: Json, quote: str, kind: str, rule: str
) -> None:
    shown = prove(value, quote, type=kind)
    assert (shown.grounding, shown.normalization) == (Grounding.NORMALIZED, rule)


def test_a_date_follows_from_a_quote_in_other_words() -> None:
    shown = prove("2024-03-05", "5 March 2024", type="string", format="date")
    assert (shown.grounding, shown.normalization) == (Grounding.NORMALIZED, "ISO 8601 date")


def test_quotation_marks_and_dots_round_a_quote_do_not_count() -> None:
    assert prove("Code 12", '"…Code 12..."', type="string").grounding is Grounding.VERIFIED


@pytest.mark.parametrize(
    ("value", "quote"),
    [
        ("Grace", "Made by Grace"),
        ("Grace", "art is free"),
        ("art", "party"),
        ("par", "art is free"),
        ("", ""),
        ("Ember", ""),
    ],
)
def test_what_the_quote_does_not_say_or_the_page_does_not_have_is_unverified(
    value: str, quote: str
) -> None:
    shown = prove(value, quote, type="string")
    assert (shown.grounding, shown.start) == (Grounding.UNVERIFIED, None)


def test_a_number_is_no_part_of_another() -> None:
    assert prove(12, "112 parts", type="integer").grounding is Grounding.UNVERIFIED
    assert prove(12, "12 parts", type="integer").grounding is Grounding.UNVERIFIED


def test_a_telling_value_needs_no_right_quote() -> None:
    shown = prove("5 March 2024", "on the fifth", type="string")
    assert (shown.grounding, shown.quote) == (Grounding.VERIFIED, "5 March 2024")


def test_dates_take_the_form_that_their_field_wants() -> None:
    date = wanted(type="string", format="date")
    assert normalise_claim(date, "March 5, 2024") == "2024-03-05"
    assert normalise_claim(date, "some day") is None
    assert normalise_claim(wanted(type="string"), "some day") == "some day"


def test_a_quote_in_other_words_is_found_in_the_line_that_says_the_value() -> None:
    quote = "Jane Doe wrote it on 5 March 2024, its Code is 12"
    shown = prove(12, quote, (0, len(PAGE)), type="integer")
    assert (shown.grounding, shown.quote) == (Grounding.NORMALIZED, "12")
    assert shown.normalization == "quoted in other words"
    unread = prove(12, quote, type="integer")
    other = prove(13, quote, (0, len(PAGE)), type="integer")
    assert {unread.grounding, other.grounding} == {Grounding.UNVERIFIED}


def test_a_sign_belongs_to_its_figure_and_a_range_has_none() -> None:
    page = "At night it has -5 degrees, by day 3-8."
    prover = ClaimProver(page, URL)
    number = wanted(type="integer")
    assert prover.prove(number, 5, "-5 degrees").grounding is Grounding.UNVERIFIED
    assert prover.prove(number, -5, "it has -5 degrees").grounding is not Grounding.UNVERIFIED
    assert prover.prove(number, 8, "by day 3-8").grounding is Grounding.VERIFIED


def test_what_was_read_from_the_middle_of_a_number_on_proves_nothing() -> None:
    middle = PAGE.index("112 parts") + 1
    shown = prove(12, "12 parts", (middle, len(PAGE)), type="integer")
    assert shown.grounding is Grounding.UNVERIFIED
    shown = prove(12, "It has some 12 parts Code again", (middle, len(PAGE)), type="integer")
    assert shown.grounding is Grounding.UNVERIFIED
