"""Matches proved by the texts of their page."""

import pytest

from cinder.extract.fields.candidates import Candidate
from cinder.extract.fields.grounding import Grounder
from cinder.extract.fields.matching import Match, Slot
from cinder.extract.fields.values import Reading
from cinder.extract.fields.wanted import read_schema
from cinder.model.document import Json
from cinder.model.extracted_data import Evidence, Grounding, Method, QuotedText

FIELD = read_schema({"properties": {"a": {}}})[0].children[0]


def match(value: Json, quote: str, rule: str = "", method: Method = Method.LABEL) -> Match:
    candidate = Candidate(text=quote, label=(), method=method, said="Label")
    return Match(Slot(FIELD), candidate, Reading(value, quote, rule), 1.0)


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
