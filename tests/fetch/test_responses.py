from dataclasses import replace

import pytest

from cinder.errors import EgressBlocked, ScrapeFailed
from cinder.fetch.responses import HopHeaders, is_pdf, media_type, redirect_target
from cinder.models.document import FetchedPage, FetchSource

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


def page(path: str, content_type: str, disposition: str = "") -> FetchedPage:
    return FetchedPage(
        url=f"https://a.example{path}",
        final_url=f"https://a.example{path}",
        status_code=200,
        headers={"content-type": content_type, "content-disposition": disposition},
        body=b"",
        source=FetchSource.NATIVE,
        strategy="native",
    )


@pytest.mark.parametrize(
    ("path", "content_type", "disposition", "expected"),
    [
        ("/x", "text/html", "", None),
        ("/x", "application/json", "", None),
        ("/x", "image/png", "", "image/png"),
        ("/x", "video/mp4; codecs=avc1", "", "video/mp4"),
        ("/x", "AUDIO/MPEG", "", "audio/mpeg"),
        ("/x", "application/pdf", "", "application/pdf"),
        ("/x", "text/csv", "attachment; filename=a.csv", "text/csv"),
        ("/x", "application/octet-stream", "attachment", "application/octet-stream"),
        ("/a.PNG", "application/octet-stream", "", "image/png"),
        ("/a.png?x=.html", "application/octet-stream", "", "image/png"),
        ("/a.exe", "application/octet-stream", "", None),
        ("/a.png", "text/html", "", None),
        ("/x", "text/html", "inline", None),
    ],
)
def test_media_is_told_by_disposition_type_or_extension(
    path: str, content_type: str, disposition: str, expected: str | None
) -> None:
    assert media_type(page(path, content_type, disposition)) == expected


@pytest.mark.parametrize(
    ("path", "content_type", "body", "expected"),
    [
        ("/x", "application/pdf", b"", True),
        ("/x", "application/x-pdf", b"", True),
        ("/a.pdf", "application/octet-stream", b"", True),
        ("/x", "application/octet-stream", b"%PDF-1.7", True),
        ("/x", "", b"%PDF-1.7", True),
        ("/x", "text/plain", b"%PDF-1.7", False),
        ("/a.pdf", "text/html", b"<p>", False),
        ("/x", "", b"<p>", False),
    ],
)
def test_a_pdf_is_told_by_its_type_or_by_how_it_begins(
    path: str, content_type: str, body: bytes, expected: bool
) -> None:
    assert is_pdf(replace(page(path, content_type, ""), body=body)) is expected
