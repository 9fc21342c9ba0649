"""The words of names and labels, and how they agree."""

import tomllib
from collections import Counter
from importlib.resources import files

import pytest

from cinder.extraction.synonyms import agreement, described, synonyms_of, words_of
from cinder.text.terms import find_terms


@pytest.mark.parametrize(
    ("field", "label"),
    [
        ("price", "Cost"),
        ("reviewCount", "Number of reviews"),
        ("sku", "Article number"),
        ("start_date", "Begins"),
        ("phoneNumber", "Tel."),
        ("postalCode", "ZIP code"),
        ("ingredients", "You will need"),
        ("date-of-birth", "Born"),
        ("HTMLTitle", "html title"),
    ],
)
def test_names_and_their_synonyms_agree(field: str, label: str) -> None:
    assert agreement(words_of(field), (), words_of(label)) == 1.0


@pytest.mark.parametrize(
    ("field", "label"),
    [
        ("price", "Old price"),
        ("startDate", "End date"),
        ("rating", "Number of reviews"),
        ("companyName", "Battery"),
        ("email", "Fax"),
    ],
)
def test_what_means_something_else_does_not_agree(field: str, label: str) -> None:
    assert agreement(words_of(field), (), words_of(label)) < 0.6


def test_units_and_the_name_of_the_whole_count_little() -> None:
    assert agreement(words_of("durationWeeks"), (), words_of("Duration")) > 0.7
    assert agreement(words_of("city"), words_of("address"), words_of("address city")) > 0.8


def test_a_description_tells_what_a_name_does_not() -> None:
    description = words_of("Noise level at full load")
    assert described(description, words_of("Noise")) > 0.6
    assert described(description, words_of("Load")) < 0.6
    assert described(description, words_of("Noise colour")) == 0.0


def test_a_name_has_the_words_of_all_that_means_the_same() -> None:
    assert {"cost", "fee"} <= set(synonyms_of("price"))
    assert {"guarante", "garanti"} <= set(synonyms_of("warrantyMonths"))
    assert synonyms_of("zyx") == ()


def test_each_phrase_of_the_data_file_is_in_lower_case_and_has_one_meaning() -> None:
    data = tomllib.loads((files("cinder.extraction") / "synonyms.toml").read_text("utf-8"))
    phrases = [
        phrase
        for meaning, others in data["phrases"].items()
        for phrase in {tuple(find_terms(name)) for name in (meaning, *others)}
    ]
    assert [phrase for phrase, count in Counter(phrases).items() if count > 1] == []
    names = [name for meaning, others in data["phrases"].items() for name in (meaning, *others)]
    assert [name for name in names if name != name.lower()] == []
