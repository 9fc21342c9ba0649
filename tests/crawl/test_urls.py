"""Canonical URLs and tracking parameters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.crawl.urls import (
    CanonicalUrl,
    canonicalize_url,
    is_tracking_parameter,
    without_index_file,
    without_session,
)
from cinder.models.url import parse_web_url
from tests.crawl.samples import canonical

PIECES = (
    *("/", "index.html", "default.aspx", ";sid=1", ";jsessionid=", "(S(aaaaaaaaaaaa))", "%", "%2"),
    *("5", "%41", "%2F", "?", "&", "a=1", "utm_x", "sid=", "0123456789abcdef", "%2e", "..", "#"),
)
URL_TEXTS = st.one_of(
    st.text(alphabet="ab1AZ/.;=&?%#()~:-_[]é ", max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=20).map("".join),
)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://e.com/a#part", "https://e.com/a"),
        ("https://e.com/a?", "https://e.com/a"),
        ("https://e.com:443/", "https://e.com/"),
        ("http://e.com:443/", "http://e.com:443/"),
        ("https://e.com/?b=2&a=1&b=1", "https://e.com/?a=1&b=2&b=1"),
        ("https://e.com/?utm_source=x&UTM_Medium=y&gclid=1", "https://e.com/"),
        ("https://e.com/?&a=1&&", "https://e.com/?a=1"),
        ("https://e.com/?%67clid=1&ref=x&source=y", "https://e.com/?ref=x&source=y"),
        ("https://e.com/%7Euser/%c3%a9/100%", "https://e.com/~user/%C3%A9/100%25"),
        ("https://e.com/dir/index.html", "https://e.com/dir/index.html"),
        ("https://e.com/Default.aspx?id=1", "https://e.com/Default.aspx?id=1"),
        ("https://e.com/my-index.html", "https://e.com/my-index.html"),
        ("https://e.com/a;jsessionid=0A1B?x=1", "https://e.com/a?x=1"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
    ],
)
def test_spellings_of_one_page_have_one_key(url: str, key: str) -> None:
    assert canonical(url).key == key


def test_what_is_fetched_is_what_was_linked_without_noise() -> None:
    found = canonical("https://e.com/%7ea/index.php;sid=1?b=2&utm_id=3&a=1#top")
    assert found == CanonicalUrl(
        url="https://e.com/%7ea/index.php?b=2&a=1",
        key="https://e.com/~a/index.php?a=1&b=2",
        authority="e.com",
        path="/~a/index.php",
        query="a=1&b=2",
        fingerprint=canonical("https://e.com/~a/index.php?a=1&b=2").fingerprint,
    )


@pytest.mark.parametrize(
    "url", ["mailto:a@e.com", "https://a:b@e.com/", "ftp://e.com/", "/a", "", "https://é.com/"]
)
def test_what_is_no_address_of_the_web_is_none(url: str) -> None:
    assert canonicalize_url(url) is None


def test_the_fingerprint_is_the_same_everywhere() -> None:
    found = canonical("https://e.com/").fingerprint
    assert found.hex() == "dc7667c91a3295f630cf7e8bbf402ae6"
    assert found == canonical("https://e.com/#x").fingerprint


@given(URL_TEXTS)
def test_the_key_is_its_own_key_and_that_of_what_is_fetched(text: str) -> None:
    found = canonical(parse_web_url(f"https://e.com/{text}"))
    assert canonical(found.key).key == found.key
    assert canonical(found.url) == found


@given(st.text())
def test_any_text_is_an_address_or_none(text: str) -> None:
    found = canonicalize_url(text)
    assert found is None or found.key.startswith(("http://", "https://"))


@pytest.mark.parametrize(
    "parameter",
    [
        "utm_campaign=spring",
        "fbclid=IwAR0",
        "msclkid",
        "mc_eid=1",
        "PHPSESSID=x",
        "ASPSESSIONIDQQ=x",
        "sid=0123456789abcdef0123456789abcdef",
        "session_id=aB3dE6gH9jK2mN5pQ8sT1vW4",
    ],
)
def test_tracking_and_sessions_are_noise(parameter: str) -> None:
    assert is_tracking_parameter(parameter)


@pytest.mark.parametrize(
    "parameter", ["id=1", "ref=x", "source=y", "sid=42", "s=shoes", "session=keynote-on-day-one"]
)
def test_what_may_choose_a_page_is_kept(parameter: str) -> None:
    assert not is_tracking_parameter(parameter)


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("/dir/index.html", "/dir/"),
        ("/Default.aspx", "/"),
        ("/dir/default.html", "/dir/"),
        ("/my-index.html", "/my-index.html"),
        ("/dir/", "/dir/"),
    ],
)
def test_an_index_file_has_a_folder(path: str, folder: str) -> None:
    assert without_index_file(path) == folder


def test_paths_lose_their_session() -> None:
    assert without_session("/a;jsessionid=1F.node2/b;v=1") == "/a/b;v=1"
    assert without_session("/(S(lit3py55t21z5v55vlm25s55))/orders.aspx") == "/orders.aspx"
    assert without_session("/wiki/Mercury_(planet)/x") == "/wiki/Mercury_(planet)/x"
