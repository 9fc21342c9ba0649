"""The addresses of model servers."""

import pytest

from cinder.llm.addresses import parse_base_url
from cinder.llm.anthropic import AnthropicFormat
from cinder.llm.openai import OpenAiFormat


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
