"""The messages about a page's branding."""

import pytest

from cinder.html.branding import find_stylesheets, read_branding
from cinder.models.document import FetchedPage, FetchSource, Json
from cinder.sandbox.branding_messages import (
    answer_branding,
    answer_stylesheets,
    branding_job,
    read_brand,
    read_stylesheets,
    stylesheets_job,
)
from cinder.sandbox.messages import MalformedMessage, Message
from tests.sandbox.test_messages import sent
from tests.site.brand import BRAND, BRAND_CSS

URL = "https://example.com/"


def a_page(samples: dict[str, Json] | None = None) -> FetchedPage:
    return FetchedPage(
        url="https://example.com/asked",
        final_url=URL,
        status_code=200,
        headers={"content-type": "text/html"},
        body=BRAND.encode(),
        source=FetchSource.NATIVE,
        strategy="native",
        style_samples=samples,
    )


def test_sheets_arrive_as_they_were_found() -> None:
    answer = answer_stylesheets(sent(stylesheets_job(a_page())))
    found = find_stylesheets(BRAND.encode(), content_type="text/html", url=URL)
    assert tuple(read_stylesheets(sent(answer))) == found != ()


@pytest.mark.parametrize("samples", [None, {"elements": [], "colours": {"red": 2}}])
def test_a_branding_arrives_as_it_was_read(samples: dict[str, Json] | None) -> None:
    answer = answer_branding(sent(branding_job(a_page(samples), [BRAND_CSS, "\ud800"])))
    sheets = (BRAND_CSS, "?")
    assert read_brand(sent(answer)) == read_branding(
        BRAND.encode(), content_type="text/html", url=URL, sheets=sheets, samples=samples
    )


def test_an_answer_of_another_shape_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        read_brand(Message("branding", {"branding": ["x"]}))
    with pytest.raises(MalformedMessage):
        read_stylesheets(Message("stylesheets", {}))
