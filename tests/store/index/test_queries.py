"""Queries: words, phrases and what to leave out are told apart, and bounded."""

import pytest

from cinder.store.index.queries import MAX_PHRASES, MAX_TERMS, Wanted, parse_query


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("dry grass", Wanted(terms=(("dry",), ("grass",)))),
        ("the grass of the hills", Wanted(terms=(("grass",), ("hills",)))),
        ("to be or not to be", Wanted(terms=(("to",), ("be",), ("or",), ("not",)))),
        ("grass Grass GRASS", Wanted(terms=(("grass",),))),
        ("boundary-layer", Wanted(terms=(("boundary",), ("layer",)))),
        ('"The dry grass" fire', Wanted(terms=(("fire",),), phrases=(("the", "dry", "grass"),))),
        (
            'fire -wood -"dry grass"',
            Wanted(terms=(("fire",),), excluded=(("wood",), ("dry", "grass"))),
        ),
        ('"not closed', Wanted(terms=(("closed",),))),
        ("- fire --", Wanted(terms=(("fire",),))),
        ("日本語", Wanted(terms=(("日", "本"), ("本", "語")))),
        ("本", Wanted(terms=(("本",),))),
        ("title:fire OR NOT x*", Wanted(terms=(("title",), ("fire",), ("x",)))),
    ],
)
def test_a_query_is_read_as_a_person_means_it(text: str, wanted: Wanted) -> None:
    assert parse_query(text) == wanted


def test_required_texts_are_phrases_that_must_be_there() -> None:
    wanted = parse_query("fire", ("Dry grass", "C++"))
    assert wanted == Wanted(terms=(("fire",),), phrases=(("dry", "grass"), ("c",)))


def test_a_long_query_is_cut_short() -> None:
    text = " ".join(f'word{number} "phrase {number}" -not{number}' for number in range(500))
    wanted = parse_query(text)
    assert len(wanted.terms) == MAX_TERMS
    assert len(wanted.phrases) == MAX_PHRASES
    assert len(wanted.excluded) == MAX_PHRASES
