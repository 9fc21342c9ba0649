"""URLs of model servers, and JSON in answers."""

import pytest

from cinder.llm.anthropic import AnthropicFormat
from cinder.llm.openai import OpenAiFormat
from cinder.llm.wire_format import count_at, find_json, parse_base_url
from cinder.models.document import Json


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


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1/chat/completions"),
        ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1/chat/completions"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"),
        ("https://g.example/v1beta/openai/", "https://g.example/v1beta/openai/chat/completions"),
    ],
)
def test_chat_completions_stand_below_the_base(base: str, url: str) -> None:
    assert OpenAiFormat(parse_base_url(base), "m", None).url == url


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
        ("http://127.0.0.1:4000/anthropic/", "http://127.0.0.1:4000/anthropic/v1/messages"),
    ],
)
def test_messages_stand_below_the_first_version(base: str, url: str) -> None:
    assert AnthropicFormat(parse_base_url(base), "m", None).url == url


@pytest.mark.parametrize(
    "text", ["", "ftp://a.example", "http://a.example/?key=1", "http://me:pw@a.example", "http://"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_base_url(text)


def test_without_a_key_none_is_sent() -> None:
    assert OpenAiFormat("http://a.example", "m", None).headers == {}
    assert "x-api-key" not in AnthropicFormat("http://a.example", "m", None).headers
