"""PDF documents: what is said of what a limit or an answer lacks."""

from dataclasses import replace

import pytest

from cinder.app import open_app
from cinder.config import Settings
from cinder.model.document import Extraction, FetchedPage, Source, VerdictKind
from cinder.model.request import ContentOptions, Format, PdfParser, ScrapeRequest
from cinder.services.scraping.pdf_documents import judge_pdf, unmade_warnings
from tests.site import Site

PAGE = FetchedPage(
    url="https://fires.example/a.pdf",
    final_url="https://fires.example/a.pdf",
    status_code=200,
    headers={"content-type": "application/pdf"},
    body=b"%PDF-1.7",
    source=Source.NATIVE,
    strategy="static",
)


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [(None, VerdictKind.PARTIAL), (9, VerdictKind.PARTIAL), (2, VerdictKind.OK)],
)
async def test_pages_that_only_a_setting_leaves_out_make_it_partial(
    settings: Settings, site: Site, asked: int | None, verdict: VerdictKind
) -> None:
    scrape = settings.scrape.model_copy(update={"pdf_max_pages": 3})
    request = ScrapeRequest(
        url=site.url("/document?name=handbook.pdf"),
        formats=(Format.MARKDOWN,),
        content=ContentOptions(pdf_parser=PdfParser(max_pages=asked)),
    )
    async with open_app(settings.model_copy(update={"scrape": scrape})) as app:
        outcome = await app.scrape.scrape(request)
    assert outcome.document.verdict.kind is verdict
    assert "Of 30 pages" in (outcome.warning or "")


def test_a_limit_a_cut_and_no_text_are_told_apart() -> None:
    assert judge_pdf(PAGE, Extraction()).kind is VerdictKind.OK
    assert judge_pdf(PAGE, Extraction(is_partial=True)).kind is VerdictKind.PARTIAL
    assert judge_pdf(PAGE, Extraction(empty_evidence="no text")).kind is VerdictKind.EMPTY
    cut = judge_pdf(replace(PAGE, is_cut=True), Extraction(empty_evidence="no text"))
    assert (cut.kind, cut.evidence) == (VerdictKind.PARTIAL, "the file broke off after 8 bytes")


def test_who_asks_for_the_file_alone_is_told_nothing() -> None:
    raw = ScrapeRequest(url=PAGE.url, formats=(Format.RAW_HTML,))
    assert unmade_warnings(PAGE, raw, is_parsed=False) == ()
    uncleaned = ScrapeRequest(
        url=PAGE.url, formats=(Format.MARKDOWN,), content=ContentOptions(clean=False)
    )
    assert unmade_warnings(PAGE, uncleaned, is_parsed=False) == ()


def test_a_parser_is_not_advised_for_what_it_cannot_make() -> None:
    request = ScrapeRequest(url=PAGE.url, formats=(Format.BRANDING,))
    (warning,) = unmade_warnings(PAGE, request, is_parsed=False)
    assert warning == "The PDF is handed through as the file it is, without branding."
