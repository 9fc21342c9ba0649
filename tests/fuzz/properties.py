"""What must hold of every parser, whatever it is given."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import h11
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from cinder.api.arguments import MAX_PROBLEMS, parse_json_strings, read_arguments
from cinder.api.schemas.scrape import SCRAPE_CHECKS, ScrapeArguments
from cinder.crawl.robots import (
    MAX_CRAWL_DELAY_SECONDS,
    MAX_SITEMAPS,
    RobotsFile,
    RobotsRules,
)
from cinder.crawl.sitemaps import read_sitemap
from cinder.crawl.urls import canonicalize_url
from cinder.documents.feeds import read_feed, read_json_feed
from cinder.egress.base import PlainUrl, Target
from cinder.egress.credentials import read_authorization
from cinder.egress.relay import request_for_origin
from cinder.errors import InvalidRequest
from cinder.html.bombs import UnparsedFormats, extract_unparsed_html, find_bomb
from cinder.html.links import parse_srcset
from cinder.models.http import check_headers
from cinder.models.redaction import redact
from cinder.models.saved import SavedKind, Version, page_path, parse_saved_uri
from cinder.models.url import host_and_port, join_web_url, parse_web_url, read_domain
from cinder.text.content_type import content_kind, decode_body
from cinder.xml_tree import UnreadableXml, XmlNode, parse_xml
from tests.fuzz import inputs

_HERE = "http://example.com/here"
_LONGEST_MESSAGE = 1_000


@dataclass(frozen=True, slots=True)
class Property:
    """Something that holds of whatever is given. Any: each has inputs of its own."""

    name: str
    inputs: SearchStrategy[Any]
    holds: Callable[[Any], None]

    def try_examples(self, count: int) -> None:
        """Make up so many inputs; raise where it does not hold, with the least that shows it."""

        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(self.inputs)
        def check(value: Any) -> None:
            self.holds(value)

        check()


def a_web_url_is_spelled_in_one_way(text: str) -> None:
    try:
        url = parse_web_url(text)
    except ValueError:
        return
    assert parse_web_url(url) == url
    assert url.startswith(("http://", "https://"))
    assert url.isascii()
    assert "@" not in url.split("/")[2]
    host, port = host_and_port(url)
    assert host.strip(".")
    assert 0 <= port <= 65_535
    assert len(url) <= 12 * len(text) + 20


def a_joined_url_is_spelled_in_one_way(reference: str) -> None:
    try:
        url = join_web_url(_HERE, reference)
    except ValueError:
        return
    assert parse_web_url(url) == url


def an_address_is_that_of_its_own_spelling(text: str) -> None:
    try:
        address = canonicalize_url(parse_web_url(text))
    except ValueError:
        return
    if address is None:
        return
    again = canonicalize_url(address.url)
    assert again is not None
    assert again.url == address.url
    assert again.key == address.key
    of_key = canonicalize_url(address.key)
    assert of_key is not None
    assert of_key.key == address.key


def a_domain_is_that_of_its_own_name(text: str) -> None:
    try:
        domain = read_domain(text)
    except ValueError:
        return
    assert "/" not in domain
    assert "@" not in domain


def a_saved_page_is_found_by_its_uri(text: str) -> None:
    try:
        place = page_path(parse_web_url(text))
    except ValueError:
        return
    version = Version(place, datetime(2026, 2, 3, 4, 5, 6, 789_000, tzinfo=UTC))
    assert parse_saved_uri(version.uri(SavedKind.CLEANED)) == (version, SavedKind.CLEANED)


def a_text_names_a_saved_page_or_none(text: str) -> None:
    try:
        version, kind = parse_saved_uri(f"scrape://{text}")
    except ValueError:
        return
    assert parse_saved_uri(version.uri(kind))[1] is kind


def a_redacted_text_stays_as_it_is(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


def headers_that_pass_arrive_as_they_were_sent(headers: dict[str, str]) -> None:
    if check_headers(headers):
        return
    sender, receiver = h11.Connection(h11.CLIENT), h11.Connection(h11.SERVER)
    # What stands around a value is no part of it, and not sent.
    kept = [(name, value.strip(" \t")) for name, value in headers.items()]
    names = [("Host", "example.com"), *kept]
    sent = sender.send(h11.Request(method="GET", target="/", headers=names))
    receiver.receive_data(sent or b"")
    request = receiver.next_event()
    assert isinstance(request, h11.Request)
    arrived = [(name.decode(), value.decode()) for name, value in request.headers]
    assert arrived == [(name.lower(), value) for name, value in names]


def a_pair_is_spelled_in_one_way(text: str) -> None:
    try:
        target = Target.from_pair(text)
    except ValueError:
        return
    assert Target.from_pair(str(target)) == target
    assert 1 <= target.port <= 65_535


def a_plain_url_asks_for_what_was_judged(text: str) -> None:
    try:
        url = PlainUrl.parse(text)
    except ValueError:
        return
    again = PlainUrl.parse(f"http://{url.authority}{url.path}")
    assert again == url
    request = h11.Request(method="GET", target="/", headers=_ASKED)
    sent = h11.Connection(h11.CLIENT).send(request_for_origin(request, url)) or b""
    assert sent.lower().count(b"\r\nhost:") == 1
    assert b"proxy-" not in sent.lower()


_ASKED = [
    ("Host", "forged.example"),
    ("Proxy-Connection", "close"),
    ("Connection", "x-a"),
    ("X-A", "1"),
]


def an_authorization_is_a_name_and_a_password_or_none(value: bytes) -> None:
    found = read_authorization(value)
    assert found is None or b":" not in found[0]


def a_page_becomes_text_without_nulls(page: tuple[bytes, str]) -> None:
    body, content_type = page
    text = decode_body(body, content_type)
    assert "\0" not in text
    assert len(text) <= len(body)
    assert text.encode("utf-8").decode("utf-8") == text
    content_kind(content_type, text)


def a_look_along_a_page_ends(html: str) -> None:
    found = find_bomb(html)
    assert found is None or found
    formats = UnparsedFormats(markdown=True, links=True)
    url = "https://example.com/"
    bare = extract_unparsed_html(html.replace("\0", ""), url=url, formats=formats, reason="trial")
    assert bare.markdown is not None
    assert len(bare.markdown) <= 2 * len(html)
    parse_srcset(html)


def xml_is_a_bounded_tree_or_refused(text: str) -> None:
    try:
        root = parse_xml(text)
    except UnreadableXml:
        return
    assert _count(root) <= len(text)
    feed = read_feed(root)
    assert len(feed.items) <= feed.item_count


def _count(root: XmlNode) -> int:
    return 1 + sum(map(_count, root.children))


def a_json_feed_is_read_or_none(content: Any) -> None:
    feed = {"version": "https://jsonfeed.org/version/1.1", "items": content, "title": content}
    found = read_json_feed(json.dumps(feed))
    assert found is None or len(found.items) <= found.item_count


def a_sitemap_names_web_urls(body: bytes) -> None:
    found = read_sitemap(body, _HERE)
    for url in (*found.pages, *found.sitemaps):
        assert parse_web_url(url) == url


def robots_rules_judge_and_bound(body: bytes) -> None:
    at = datetime(2026, 2, 3, tzinfo=UTC)
    rules = RobotsRules(RobotsFile(url=_HERE, status_code=200, fetched_at=at, body=body))
    for url in (_HERE, "http://example.com/%2e/a?b=c", "http://example.com/"):
        assert rules.judge(url) in (None, "disallowed by robots.txt")
    delay = rules.crawl_delay_seconds
    assert delay is None or 0 <= delay <= MAX_CRAWL_DELAY_SECONDS
    assert len(rules.sitemaps) <= MAX_SITEMAPS


def arguments_are_read_or_refused_with_reasons(arguments: dict[str, Any]) -> None:
    unpacked = parse_json_strings(ScrapeArguments, arguments)
    assert set(unpacked) == set(arguments)
    read = _read_or_refuse(unpacked)
    if isinstance(read, InvalidRequest):
        assert 1 <= len(read.problems) <= MAX_PROBLEMS + 1
        assert all(len(problem.message) <= _LONGEST_MESSAGE for problem in read.problems)
        return
    said = read.model_dump(by_alias=True, mode="json", exclude_defaults=True)
    assert read_arguments(ScrapeArguments, said, *SCRAPE_CHECKS) == read


def _read_or_refuse(given: dict[str, Any]) -> ScrapeArguments | InvalidRequest:
    try:
        return read_arguments(ScrapeArguments, given, *SCRAPE_CHECKS)
    except InvalidRequest as refused:
        return refused


_NAMES = [info.alias or name for name, info in ScrapeArguments.model_fields.items()]
_WITH_URL = inputs.arguments(_NAMES).map(lambda given: {"url": "a.example", **given})

PROPERTIES = tuple(
    Property(holds.__name__, strategy, holds)
    for strategy, holds in (
        (inputs.ADDRESSES, a_web_url_is_spelled_in_one_way),
        (inputs.ADDRESSES, a_joined_url_is_spelled_in_one_way),
        (inputs.ADDRESSES, an_address_is_that_of_its_own_spelling),
        (inputs.ADDRESSES, a_domain_is_that_of_its_own_name),
        (inputs.ADDRESSES, a_saved_page_is_found_by_its_uri),
        (inputs.ADDRESSES, a_text_names_a_saved_page_or_none),
        (inputs.ADDRESSES, a_redacted_text_stays_as_it_is),
        (inputs.HEADERS, headers_that_pass_arrive_as_they_were_sent),
        (inputs.ADDRESSES, a_pair_is_spelled_in_one_way),
        (inputs.ADDRESSES, a_plain_url_asks_for_what_was_judged),
        (st.binary(max_size=100), an_authorization_is_a_name_and_a_password_or_none),
        (st.tuples(inputs.PAGES, inputs.CONTENT_TYPES), a_page_becomes_text_without_nulls),
        (inputs.HTML, a_look_along_a_page_ends),
        (inputs.XML, xml_is_a_bounded_tree_or_refused),
        (inputs.JSON, a_json_feed_is_read_or_none),
        (inputs.SITEMAPS, a_sitemap_names_web_urls),
        (inputs.ROBOTS, robots_rules_judge_and_bound),
        (_WITH_URL, arguments_are_read_or_refused_with_reasons),
    )
)
