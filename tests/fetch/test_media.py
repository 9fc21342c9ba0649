from dataclasses import replace

import pytest

from cinder.fetch.media import is_pdf, media_type
from cinder.models.document import FetchedPage, FetchSource


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
