import pytest

from cinder.errors import EgressBlocked, ScrapeFailed
from cinder.fetch.redirects import HopHeaders, redirect_target

HOME = "https://a.example/start"
SENT = [("Authorization", "Bearer x"), ("cookie", "a=b"), ("X-Api-Key", "k"), ("DNT", "1")]


def test_a_redirect_is_joined_to_the_page_it_came_from() -> None:
    assert redirect_target(HOME, 302, "/next?x") == "https://a.example/next?x"
    assert redirect_target(HOME, 308, "//b.example") == "https://b.example/"


@pytest.mark.parametrize(("status", "location"), [(200, "/x"), (304, "/x"), (302, None), (302, "")])
def test_an_answer_without_a_way_on_is_final(status: int, location: str | None) -> None:
    assert redirect_target(HOME, status, location) is None


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "javascript:alert(1)", "mailto:a@b.example"]
)
def test_a_redirect_out_of_the_web_is_refused(location: str) -> None:
    with pytest.raises(EgressBlocked):
        redirect_target(HOME, 302, location)


def test_a_redirect_that_leads_nowhere_is_a_failure() -> None:
    with pytest.raises(ScrapeFailed):
        redirect_target(HOME, 302, "http://[")


def test_credentials_stay_with_their_origin() -> None:
    headers = HopHeaders(HOME, SENT)
    assert headers.for_url("https://a.example/other") == SENT
    assert headers.for_url("https://b.example/") == [("DNT", "1")]
    assert headers.for_url("http://a.example/") == [("DNT", "1")]


def test_a_cookie_set_on_the_way_goes_back_to_its_origin_only() -> None:
    headers = HopHeaders(HOME, [("Cookie", "own=1")])
    headers.keep_cookies(HOME, ["seen=yes; Path=/; HttpOnly", "broken"])
    assert headers.for_url(HOME) == [("Cookie", "own=1; seen=yes")]
    assert headers.for_url("https://b.example/") == []
