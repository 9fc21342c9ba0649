"""URLs and domains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.models.url import (
    host_and_port,
    is_within,
    join_web_url,
    origin_of,
    parse_web_url,
    read_domain,
)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.com/a/../b#f", "https://example.com/b#f"),
        ("example.com", "https://example.com/"),
        ("example.com:8080/x", "https://example.com:8080/x"),
        (" HTTP://EXAMPLE.com ", "http://example.com/"),
        ("http:\\\\example.com\\x", "http://example.com/x"),
        ("//example.com/", "https://example.com/"),
        ("https://example.com/@a?b=\\@c", "https://example.com/@a?b=\\@c"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("ht\ntp://example.com/", "http://example.com/"),
    ],
)
def test_a_url_is_read_as_a_browser_reads_it(text: str, url: str) -> None:
    assert parse_web_url(text) == url


@pytest.mark.parametrize(
    "text",
    [
        "",
        "http://",
        "http://..",
        "about:blank",
        "file:///etc/passwd",
        "view-source:http://example.com",
        "javascript:alert(1)",
        "data:text/html,x",
        "http://user:secret@example.com/",
        "http://example.com\\@other.example/",
        "http://example.com\\a/b@other.example/",
        "http://h:99999/",
        "http://a=b/",
        "'http://example.com/'",
        "http://" + "a" * 9000,
    ],
)
def test_what_is_no_web_url_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_web_url(text)


@given(st.text())
def test_any_text_is_a_url_or_a_value_error(text: str) -> None:
    try:
        url = parse_web_url(text)
    except ValueError:
        return
    assert url.startswith(("http://", "https://"))
    assert parse_web_url(url) == url


def test_a_reference_is_joined_to_its_page() -> None:
    assert join_web_url("https://a.example/b/c", "../d?e") == "https://a.example/d?e"
    with pytest.raises(ValueError, match="mailto"):
        join_web_url("https://a.example/", "mailto:a@b.example")


def test_origin_and_port_tell_schemes_apart() -> None:
    assert origin_of("https://a.example/x") != origin_of("http://a.example/x")
    assert host_and_port("http://a.example/") == ("a.example", 80)
    assert host_and_port("https://[::1]:8443/") == ("::1", 8443)


def test_a_lone_surrogate_is_no_reference() -> None:
    with pytest.raises(ValueError, match="Not a valid URL"):
        join_web_url("https://a.example/", "/\ud800")


@pytest.mark.parametrize(
    "text",
    [
        *("example.com", " EXAMPLE.com ", "www.example.com", "*.example.com", ".example.com"),
        *("https://example.com/path?q=1", "example.com:8080", "example.com.", "//example.com"),
    ],
)
def test_a_domain_may_be_written_in_many_ways(text: str) -> None:
    assert read_domain(text) == "example.com"


def test_a_domain_in_another_script_is_read_as_the_web_writes_it() -> None:
    assert read_domain("bücher.example") == "xn--bcher-kva.example"


@pytest.mark.parametrize(
    "text", ["", "  ", "*.", "a b", "exa mple.com", "ftp://a.example", "\ud800"]
)
def test_what_is_no_domain_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Not a domain"):
        read_domain(text)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *(("example.com", True), ("docs.example.com", True), ("a.b.example.com.", True)),
        *(("badexample.com", False), ("example.com.evil.test", False), ("com", False)),
    ],
)
def test_a_domain_has_its_subdomains_and_nothing_else(host: str, expected: bool) -> None:
    assert is_within(host, ["example.com"]) is expected
