"""URLs of queries: whatever a query contains is one value of one parameter."""

from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.models.http import HttpResponse
from cinder.models.search import SearchFilters
from cinder.search.base import ProviderFailed
from cinder.search.brave import BraveProvider
from cinder.search.duckduckgo import DuckDuckGoProvider
from cinder.search.json_endpoint import JsonEndpoint, JsonEndpointProvider, JsonMapping
from cinder.search.provider_server import (
    QueryUrlTemplate,
    encode_form,
    parse_base_url,
    with_parameters,
)
from cinder.search.provider_throttle import ProviderThrottle
from cinder.search.searxng import SearxngProvider
from tests.search.opening import asking

# Surrogates too: JSON can bring halves of characters.
TEXTS = st.text(st.characters(exclude_categories=[]), min_size=1, max_size=60)
HOSTILE = st.one_of(
    TEXTS,
    st.lists(st.sampled_from([*"&=#?/\\@:;+%.{} \r\n\t\0", "..", "%2e%2e", "{page}", "q="])).map(
        "".join
    ),
)


class Recorder:
    """A client that keeps what it is told to send, and answers that nothing was found."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes, Mapping[str, str]]] = []

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpResponse:
        self.sent.append((url, b"", headers))
        return HttpResponse(status=200, headers={}, body=b'{"results": [], "web": {}}')

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
        self.sent.append((url, body, headers))
        return HttpResponse(status=200, headers={}, body=b'<div class="no-results">')


def well_formed(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def is_steps(text: str) -> bool:
    """Whether a path would take this for a step: one dot or two."""
    return text in (".", "..")


def parameters_of(text: str) -> dict[str, str]:
    pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True)
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


@given(HOSTILE)
def test_a_parameter_is_read_as_it_was_given(value: str) -> None:
    url = urlsplit(with_parameters("https://a.example/find", {"q": value, "page": "1"}))
    assert (url.scheme, url.netloc, url.path, url.fragment) == ("https", "a.example", "/find", "")
    assert parameters_of(url.query) == {"q": well_formed(value), "page": "1"}
    assert parameters_of(encode_form({"q": value}).decode()) == {"q": well_formed(value)}


@given(HOSTILE)
def test_a_value_in_a_template_changes_nothing_else_of_the_url(value: str) -> None:
    template = QueryUrlTemplate.parse("https://a.example/in/{where}/find?q={where}&page=1#top")
    if is_steps(value):
        with pytest.raises(ValueError, match="another path"):
            template.fill({"where": value})
        return
    url = urlsplit(template.fill({"where": value}))
    assert (url.scheme, url.netloc, url.fragment) == ("https", "a.example", "")
    assert url.path.startswith("/in/")
    assert url.path.endswith("/find")
    assert url.path.count("/") == 3
    assert parameters_of(url.query) == {"q": well_formed(value), "page": "1"}


@given(HOSTILE, HOSTILE, HOSTILE)
async def test_no_query_or_filter_reaches_beyond_its_value(
    text: str, domain: str, phrase: str
) -> None:
    filters = SearchFilters(
        include_domains=(domain,), exclude_domains=(domain,), required_text=(phrase,)
    )
    query = asking(text, filters=filters)
    client = Recorder()
    mapping = JsonMapping()
    endpoint = JsonEndpoint(
        url="https://a.example/find?q={query}&n={count}", headers={"X-Key": "k"}, mapping=mapping
    )
    polite = ProviderThrottle(delay_seconds=0, rest_seconds=0, max_wait_seconds=0)
    for provider in (
        SearxngProvider(client, "https://a.example"),
        BraveProvider(client, "k", "https://a.example/find"),
        JsonEndpointProvider("own", client, endpoint),
        DuckDuckGoProvider(client, polite, "https://a.example/html/"),
    ):
        with suppress(ProviderFailed):
            await provider.search(query)
    assert client.sent
    for url, body, headers in client.sent:
        parts = urlsplit(url)
        assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "a.example", "")
        assert parts.path in ("/search", "/find", "/html/")
        sent = parameters_of(parts.query or body.decode())
        assert set(sent) in (
            {"q", "format", "pageno"},
            {"q", "count", "offset", "result_filter", "text_decorations"},
            {"q", "n"},
            {"q", "b", "kl"},
        )
        assert set(headers) <= {
            *("User-Agent", "Accept", "X-Subscription-Token", "X-Key"),
            *("Content-Type", "Referer", "Origin", "Sec-Fetch-Site"),
        }
        assert not any("\r" in value or "\n" in value for value in headers.values())


@pytest.mark.parametrize("text", ["https://a.example/?a=1", "https://a.example/#a", "mailto:a@b"])
def test_a_base_takes_parameters_or_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_base_url(text)


def test_a_url_that_grows_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="Too long"):
        with_parameters("https://a.example/", {"q": "x" * 9_000})
    with pytest.raises(ValueError, match="Too long"):
        QueryUrlTemplate.parse("https://a.example/?q={query}").fill({"query": "ü" * 3_000})
