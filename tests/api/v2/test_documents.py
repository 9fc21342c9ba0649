"""POST /api/v2/scrape of what is not HTML: PDF documents, feeds, tables."""

import base64
import re
from typing import Any

import httpx2
import pytest

from cinder.app.composition import App
from cinder.models.request import OWNER
from tests.api.v2.test_routes import fail, scrape
from tests.site import Site
from tests.site.documents import CHAPTERS, HANDBOOK_PAGES, handbook, leaflet

PDF_PARSER = [{"type": "pdf"}]


async def test_thirty_pages_give_their_headings_tables_and_links(
    client: httpx2.AsyncClient, site: Site
) -> None:
    url = site.url("/document?name=handbook.pdf")
    data = await scrape(
        client, url=url, parsers=PDF_PARSER, formats=["markdown", "html", "links", "images"]
    )
    content = data["content"]
    assert [f"# {n} {name}" for n, name in enumerate(CHAPTERS, 1)] == re.findall(
        r"^# .+", content, re.MULTILINE
    )
    assert content.count("| Wood | Hours | Remark |\n| --- | --- | --- |\n| Oak ") == 12
    assert content.count("<!-- page ") == HANDBOOK_PAGES
    assert len(data["links"]) == len(CHAPTERS)
    assert data["images"] == []
    assert data["html"].startswith("<!-- page 1 -->\n\n<h1>1 Kindling</h1>")
    assert (data["metadata"]["pageCount"], data["verdict"]) == (HANDBOOK_PAGES, "ok")


async def test_the_file_that_was_parsed_is_kept_as_the_raw_body(
    client: httpx2.AsyncClient, site: Site, app: App
) -> None:
    url = site.url("/document?name=handbook.pdf")
    data = await scrape(client, url=url, parsers=PDF_PARSER, formats=["markdown"])
    assert list(data["savedUris"]) == ["raw", "cleaned"]
    body = await app.archive.read(data["savedUris"]["raw"], OWNER)
    assert body is not None
    assert (body.mime, body.data) == ("application/pdf", handbook())
    again = await scrape(client, url=url, parsers=PDF_PARSER, formats=["markdown"])
    assert again["cached"]
    assert again["content"] == data["content"]


async def test_what_max_pages_leaves_out_is_said(client: httpx2.AsyncClient, site: Site) -> None:
    url = site.url("/document?name=handbook.pdf")
    parser = {"type": "pdf", "maxPages": 2}
    data = await scrape(client, url=url, parsers=[parser], formats=["markdown"])
    assert data["content"].count("<!-- page ") == 2
    assert data["metadata"]["pageCount"] == HANDBOOK_PAGES
    assert "Of 30 pages the first 2 were parsed" in data["warning"]
    assert data["verdict"] == "ok"


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"parsers": PDF_PARSER, "cleanScrape": False},
        {"parsers": PDF_PARSER, "formats": ["rawHtml"]},
    ],
)
async def test_a_pdf_is_the_file_itself_for_whoever_wants_nothing_made_of_it(
    client: httpx2.AsyncClient, site: Site, asked: dict[str, Any]
) -> None:
    data = await scrape(client, url=site.url("/document?name=leaflet.pdf"), **asked)
    assert (data["format"], data["contentType"]) == ("media", "application/pdf")
    assert base64.b64decode(data["screenshotBase64"].partition(",")[2]) == leaflet()


async def test_a_pdf_without_a_type_is_known_by_how_it_begins(
    client: httpx2.AsyncClient, site: Site
) -> None:
    url = site.url("/document?name=leaflet.pdf&type=application/octet-stream")
    data = await scrape(client, url=url, parsers=PDF_PARSER, formats=["markdown"])
    assert "# Ember care" in data["content"]


async def test_a_scanned_pdf_is_empty_and_not_an_error(
    client: httpx2.AsyncClient, site: Site
) -> None:
    url = site.url("/document?name=scanned.pdf")
    data = await scrape(client, url=url, parsers=PDF_PARSER, formats=["markdown"])
    assert data["verdict"] == "empty"
    assert data["evidence"] == "no text layer; 3 pages of images, 3 in all"
    assert "no text layer" in data["warning"]


@pytest.mark.parametrize(
    ("name", "status", "code", "said"),
    [
        ("encrypted.pdf", 422, "UNSUPPORTED", "password"),
        ("broken.pdf", 422, "UNSUPPORTED", "broken"),
        ("bomb.pdf", 422, "PARSE_LIMIT", "scrape.pdf-"),
    ],
)
async def test_a_pdf_that_cannot_be_parsed_is_a_clear_error(
    client: httpx2.AsyncClient, site: Site, name: str, status: int, code: str, said: str
) -> None:
    url = site.url(f"/document?name={name}")
    answered, error = await fail(client, url=url, parsers=PDF_PARSER)
    assert (answered, error["code"]) == (status, code)
    assert said in error["message"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("table.csv", "| Pine | 3 | spits \\| cracks |"),
        ("feed.rss", "## [Coals](https://embers.example/coals)"),
        ("feed.atom", "Fein *gesiebt*"),
        ("feed.json", "## [One](https://sparks.example/1)"),
        ("sitemap.xml", "- <https://embers.example/ash>"),
        ("notes.md", "# Notes\n\nSome *notes*."),
    ],
)
async def test_texts_for_machines_are_written_for_readers(
    client: httpx2.AsyncClient, site: Site, name: str, content: str
) -> None:
    data = await scrape(client, url=site.url(f"/plain?name={name}"), formats=["markdown"])
    assert content in data["content"]
    assert data["verdict"] == "ok"


async def test_what_a_pdf_says_of_itself_is_in_the_metadata(
    client: httpx2.AsyncClient, site: Site
) -> None:
    url = site.url("/document?name=handbook.pdf")
    data = await scrape(client, url=url, parsers=PDF_PARSER, formats=["markdown"])
    metadata = data["metadata"]
    assert metadata["title"] == "The Stoker's Handbook"
    assert (metadata["author"], metadata["language"]) == ("Ada Stoker", "en-GB")
    assert metadata["published"] == "2025-11-15T18:30:00+00:00"
    assert metadata["keywords"] == ["fire", "ash", "ember"]


@pytest.mark.parametrize("formats", [["markdown"], ["summary", "links", "branding"]])
async def test_what_is_not_made_of_an_unparsed_pdf_is_said(
    client: httpx2.AsyncClient, site: Site, formats: list[str]
) -> None:
    url = site.url("/document?name=leaflet.pdf")
    data = await scrape(client, url=url, formats=formats)
    assert data["format"] == "media"
    assert f"without {', '.join(formats)}." in data["warning"]
    assert "parsers" in data["warning"]


async def test_a_part_of_an_unparsed_pdf_is_refused_with_the_way_to_get_it(
    client: httpx2.AsyncClient, site: Site
) -> None:
    url = site.url("/document?name=leaflet.pdf")
    _, error = await fail(client, url=url, formats=["markdown"], query="ash")
    assert "Add parsers" in str(error)


async def test_a_parsed_pdf_says_that_it_has_no_html_of_its_own(
    client: httpx2.AsyncClient, site: Site
) -> None:
    url = site.url("/document?name=handbook.pdf")
    data = await scrape(client, url=url, parsers=PDF_PARSER, formats=["rawHtml", "links"])
    assert "content" not in data
    assert len(data["links"]) == len(CHAPTERS)
    assert "A PDF has no rawHtml" in data["warning"]


async def test_a_pdf_is_the_same_whichever_formats_were_asked_for(
    client: httpx2.AsyncClient, site: Site
) -> None:
    url = site.url("/document?name=leaflet.pdf")
    await scrape(client, url=url, parsers=PDF_PARSER, formats=["markdown"])
    data = await scrape(client, url=url, parsers=PDF_PARSER, formats=["changeTracking"])
    assert data["changeTracking"]["changeStatus"] == "same"


@pytest.mark.parametrize("sent", [200, len(leaflet()) - 40])
async def test_a_pdf_that_breaks_off_is_partial(
    client: httpx2.AsyncClient, site: Site, sent: int
) -> None:
    url = site.url(f"/document?name=leaflet.pdf&sent={sent}")
    data = await scrape(client, url=url, parsers=PDF_PARSER, formats=["markdown"])
    assert data["verdict"] == "partial"
    assert data["evidence"] == f"the file broke off after {sent} bytes"
