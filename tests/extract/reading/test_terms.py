import pytest

from cinder.extract.reading.terms import find_query_terms, find_terms


@pytest.mark.parametrize(
    "words",
    [
        "cache caches cached caching",
        "query queries",
        "run running runs",
        "install installed installing installs",
        "Stra\u00dfe STRASSE",
    ],
)
def test_forms_of_a_word_are_one_term(words: str) -> None:
    assert len(set(find_terms(words))) == 1


@pytest.mark.parametrize(
    "word", ["glass", "status", "bring", "red", "this", "\u043f\u0435\u043f\u0435\u043b"]
)
def test_words_that_only_look_inflected_stay(word: str) -> None:
    assert list(find_terms(word)) == [word]


def test_scripts_without_spaces_are_read_in_pairs() -> None:
    assert list(find_terms("\u706b\u3092\u3064 fire")) == [
        *("\u706b", "\u3092", "\u3064", "\u706b\u3092", "\u3092\u3064"),
        "fir",
    ]
    assert find_query_terms("\u706b\u3092\u3064") == {"\u706b\u3092", "\u3092\u3064"}
    assert find_query_terms("\u706b") == {"\u706b"}


def test_a_question_is_asked_for_what_it_is_about() -> None:
    assert find_query_terms("What is the retention?") == {"retention"}
    assert find_query_terms("to be or") == {"to", "be", "or"}
    assert find_query_terms("?!") == set()
