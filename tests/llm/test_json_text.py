"""JSON in what models write."""

import pytest

from cinder.llm.json_text import count_at, find_json
from cinder.model.document import Json


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '\n {"a": 1}\n',
        '```json\n{"a": 1}\n```',
        'Of the {braces} I say:\n```\n{"a": 1}\n```\nThat is all.',
        'Here it is: {"a": 1}. Anything else?',
        '<think>{"a": 2}, or not?</think>\n{"a": 1}',
    ],
)
def test_json_is_found_among_words(text: str) -> None:
    assert find_json(text) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("No.", "not JSON"),
        ('{"a": {"b": 1}, "c": ', "not JSON"),
        ('{"a": NaN}', "not JSON"),
        ('{"a": "\\ud800"}', "half a character"),
        ('{"a":' * 100_000, "too deeply"),
        ("{" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_whole_json_is_none(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        find_json(text)


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ({"n": 7}, 7),
        ({"n": True}, None),
        ({"n": -1}, None),
        ({"n": 10**15}, None),
        ({"n": "7"}, None),
        ({}, None),
        ([], None),
    ],
)
def test_counts_are_sensible_or_none(value: Json, count: int | None) -> None:
    assert count_at(value, "n") == count
