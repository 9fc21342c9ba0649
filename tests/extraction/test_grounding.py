"""Quotes looked up in a text."""

import pytest

from cinder.extraction.candidates import Candidate
from cinder.extraction.field_specs import FieldSpec, read_schema
from cinder.extraction.grounding import ClaimProver, Grounder, SearchedText, normalise_claim
from cinder.extraction.matching import FieldMatch, FieldSlot
from cinder.extraction.values import ParsedValue
from cinder.models.document import Json
from cinder.models.extraction import Evidence, Grounding, Method, QuotedText

URL = "https://example.com/"
PAGE = (
    "# Ember\n\nMade by **Ada** Byron in 1,250 party hats; art is free. Total: 1,250.00 EUR.\n\n"
    "DOE, Jane wrote it on 5 March 2024. Code 12. It has 112 parts.\n\nCode 12 again."
)


def wanted(**schema: Json) -> FieldSpec:
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


FIELD = read_schema({"properties": {"a": {}}})[0].children[0]


def match(value: Json, quote: str, rule: str = "", method: Method = Method.LABEL) -> FieldMatch:
    candidate = Candidate(text=quote, label=(), method=method, label_text="Label")
    return FieldMatch(FieldSlot(FIELD), candidate, ParsedValue(value, quote, rule), 1.0)


def test_a_quote_that_is_the_value_verifies_it() -> None:
    proved = Grounder("Label: red", "<p>Label: red", "u").prove(match("red", "red"))
    assert proved == Evidence(
        method=Method.LABEL,
        quote="red",
        grounding=Grounding.VERIFIED,
        url="u",
        label="Label",
        text=QuotedText.MARKDOWN,
        start=7,
        end=10,
    )


@pytest.mark.parametrize(("quote", "value"), [("12", 12), ("12.50", 12.5)])
def test_figures_verify_their_number(quote: str, value: float) -> None:
    proved = Grounder(f"Label: {quote}", None, "u").prove(match(value, quote))
    assert proved.grounding is Grounding.VERIFIED


def test_a_rule_makes_a_value_normalized() -> None:
    proved = Grounder("Label: $12", None, "u").prove(match(12, "$12", "amount of money"))
    assert (proved.grounding, proved.normalization) == (Grounding.NORMALIZED, "amount of money")


def test_the_figures_prove_an_amount_whose_sign_stands_apart() -> None:
    page = "<b>$</b><i>12</i>"
    proved = Grounder(None, page, "u").prove(match(12, "$12", "amount of money"))
    assert (proved.quote, proved.grounding) == ("12", Grounding.NORMALIZED)


def test_what_the_page_does_not_hold_is_unverified() -> None:
    proved = Grounder("red", "<p>red", "u").prove(match("green", "green"))
    assert (proved.grounding, proved.text, proved.start) == (Grounding.UNVERIFIED, None, None)


def test_a_short_value_of_linked_data_is_quoted_from_the_markup() -> None:
    page = '<p>5 of us</p><script>{"Label": 5}</script>'
    proved = Grounder("5 of us", page, "u").prove(match(5, "5", method=Method.JSON_LD))
    assert proved.text is QuotedText.PAGE
    assert proved.start == page.index("5}")


def test_escapes_are_undone_and_said() -> None:
    page = "<p>Fire &amp; Co</p>"
    proved = Grounder(None, page, "u").prove(match("Fire & Co", "Fire & Co"))
    assert (proved.quote, proved.grounding, proved.normalization) == (
        "Fire &amp; Co",
        Grounding.NORMALIZED,
        "escapes undone",
    )


@pytest.mark.parametrize(
    ("text", "quote", "place"),
    [
        ("cost 12 now", "12", 5),
        ("cost 112 or 12", "12", 12),
        ("cost 12.50 or 12", "12", 14),
        ("weighs 12kg", "12", 7),
        ("A12 is no figure", "12", -1),
        ("unread, read", "read", 8),
        ("$12 off", "$12", 0),
        ("nothing", "12", -1),
    ],
)
def test_a_quote_is_found_as_a_whole_word_or_number(text: str, quote: str, place: int) -> None:
    assert SearchedText(text).find(quote, ()) == place


def test_a_quote_is_looked_for_after_its_anchors_and_then_anywhere() -> None:
    text = SearchedText("Ada age 36. Bob age 36. Cy")
    assert text.find("36", ("Bob", "age")) == 20
    assert text.find("36", ("Cy",)) == 8
    assert text.find("36", ("Dee",)) == 8


def test_white_space_and_marks_of_emphasis_do_not_count() -> None:
    text = "a **Lamp of\nsnake\\_case** b"
    found = SearchedText(text).find_marked("Lamp of snake_case")
    assert found is not None
    assert text[slice(*found)] == "Lamp of\nsnake\\_case"
    assert SearchedText(text).find_marked("Lamp of oil") is None


@pytest.mark.parametrize(
    "written", ["Fire &amp; Co", "Fire &#38; Co", "Fire \\u0026 Co", "Fire  &amp;\n Co"]
)
def test_entities_and_escapes_are_seen_through(written: str) -> None:
    text = f'{{"name": "{written}"}}'
    found = SearchedText(text).find_escaped("Fire & Co")
    assert found is not None
    assert text[slice(*found)] == written


def test_what_only_resembles_a_quote_is_not_it() -> None:
    assert SearchedText("Fire and Co").find_escaped("Fire & Co") is None
    assert SearchedText("Fire " * 1_000).find_escaped("Fire & Co") is None
    assert SearchedText("x").find_escaped("&&") is None


def test_a_number_may_have_more_noughts_than_it_needs() -> None:
    text = 'id 160.00 "price": 60.00, "was": 600'
    assert SearchedText(text).find_number(60, ()) == (19, 24)
    assert SearchedText(text).find_number(6, ()) is None


def test_a_quote_but_for_marks_is_no_part_of_a_word_or_number() -> None:
    text = SearchedText("It has 112 parts, and *12* parts more; a **cart** ran.")
    found = text.find_marked("12 parts")
    assert found is not None
    assert text.text[found[0] : found[1]] == "12* parts"
    assert text.find_marked("art ran") is None
