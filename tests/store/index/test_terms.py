"""Passages: the part of a text that tells why it was found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.store.index.terms import (
    MAX_PHRASES,
    MAX_TERMS,
    SNIPPET_CHARS,
    ParsedQuery,
    close_up,
    find_snippet,
    fold,
    parse_query,
    space_out,
    split_words,
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("dry grass", ParsedQuery(terms=(("dry",), ("grass",)))),
        ("the grass of the hills", ParsedQuery(terms=(("grass",), ("hills",)))),
        ("to be or not to be", ParsedQuery(terms=(("to",), ("be",), ("or",), ("not",)))),
        ("grass Grass GRASS", ParsedQuery(terms=(("grass",),))),
        ("boundary-layer", ParsedQuery(terms=(("boundary",), ("layer",)))),
        (
            '"The dry grass" fire',
            ParsedQuery(terms=(("fire",),), phrases=(("the", "dry", "grass"),)),
        ),
        (
            'fire -wood -"dry grass"',
            ParsedQuery(terms=(("fire",),), excluded=(("wood",), ("dry", "grass"))),
        ),
        ('"not closed', ParsedQuery(terms=(("closed",),))),
        ("- fire --", ParsedQuery(terms=(("fire",),))),
        ("日本語", ParsedQuery(terms=(("日", "本"), ("本", "語")))),
        ("本", ParsedQuery(terms=(("本",),))),
        ("title:fire OR NOT x*", ParsedQuery(terms=(("title",), ("fire",), ("x",)))),
    ],
)
def test_a_query_is_read_as_a_person_means_it(text: str, wanted: ParsedQuery) -> None:
    assert parse_query(text) == wanted


def test_required_texts_are_phrases_that_must_be_there() -> None:
    wanted = parse_query("fire", ("Dry grass", "C++"))
    assert wanted == ParsedQuery(terms=(("fire",),), phrases=(("dry", "grass"), ("c",)))


def test_a_long_query_is_cut_short() -> None:
    text = " ".join(f'word{number} "phrase {number}" -not{number}' for number in range(500))
    wanted = parse_query(text)
    assert len(wanted.terms) == MAX_TERMS
    assert len(wanted.phrases) == MAX_PHRASES
    assert len(wanted.excluded) == MAX_PHRASES


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Boundary-layer, flow!", ["boundary", "layer", "flow"]),
        ("snake_case x2", ["snake", "case", "x2"]),
        ("東京Tower 5", ["東", "京", "tower", "5"]),
        ("กขค ab", ["ก", "ข", "ค", "ab"]),
        ("한국어 검색", ["한국어", "검색"]),
        ("🜂 -- “…”", []),
    ],
)
def test_a_text_falls_into_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "東京都は、日本の首都です。Tokyo is the capital.",
        "気温は25度、ラーメンとPython 3.11の使い方（第2版）、人々と 空白",  # noqa: RUF001
        "ภาษาไทย ไม่เว้นวรรค v2",
    ],
)
def test_what_was_spaced_out_is_closed_up_again(text: str) -> None:
    assert space_out(text) != text
    assert close_up(space_out(text)) == text


def test_what_an_earlier_version_spaced_out_is_closed_up() -> None:
    assert close_up("ラ ー メ ン と 人 々") == "ラーメンと人々"


def test_a_japanese_passage_has_no_spaces_put_in() -> None:
    text = "東京の天気。\n本日は晴れ、気温は25度です。\nラーメン\nカレー"
    passage = find_snippet(close_up(space_out(text)), [("天",), ("気",)])
    assert passage == "東京の天気。本日は晴れ、気温は25度です。ラーメン カレー"


@pytest.mark.parametrize(
    ("text", "folded"), [("CAFÉ", "cafe"), ("Ångström", "angstrom"), ("한글", "한글"), ("A", "a")]
)
def test_accents_and_case_are_folded(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(st.text())
def test_words_are_letters_and_digits_alone(text: str) -> None:
    words = split_words(fold(text))
    assert all(character not in "\"'&|!()*:^-\\ " for word in words for character in word)
    assert "".join(words).isprintable()


FILLER = "Words that are of no use stand here in a row. "


def test_a_passage_has_the_most_of_the_words() -> None:
    text = f"A moon. {FILLER * 20}The moon moves the tides of the sea. {FILLER * 20}Tides."
    passage = find_snippet(text, [("moon",), ("tide",), ("seas",)])
    assert passage.startswith("The moon moves the tides of the sea.")
    assert len(passage) <= SNIPPET_CHARS


def test_a_text_without_the_words_gives_its_beginning() -> None:
    assert find_snippet(f"First. {FILLER * 20}", [("moon",)]).startswith("First. Words")


def test_a_short_text_is_a_passage_by_itself() -> None:
    assert find_snippet("The\nmoon\n rises.", [("moon",)]) == "The moon rises."


def test_a_passage_ends_with_a_whole_word() -> None:
    passage = find_snippet(FILLER * 30, [("row",)])
    assert passage.rpartition(" ")[2] in FILLER.split()


@given(st.text(max_size=2_000), st.lists(st.lists(st.text(min_size=1, max_size=4), min_size=1)))
def test_any_text_has_a_passage(text: str, phrases: list[list[str]]) -> None:
    passage = find_snippet(text, [tuple(phrase) for phrase in phrases])
    assert len(passage) <= SNIPPET_CHARS
    assert "".join(passage.split()) in "".join(text.split())
