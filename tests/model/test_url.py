import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.model.url import host_and_port, join_web_url, origin_of, parse_web_url


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
