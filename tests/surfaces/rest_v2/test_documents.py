"""POST /api/v2/scrape of what is not HTML: PDF documents, feeds, tables."""

import base64
import re
from typing import Any

import httpx2
import pytest

from cinder.app import App
from cinder.model.request import OWNER
from tests.site import Site
from tests.site.documents import CHAPTERS, HANDBOOK_PAGES, handbook, leaflet
from tests.surfaces.rest_v2.test_routes import fail, scrape

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
