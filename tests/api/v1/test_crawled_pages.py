"""What a crawl or a batch keeps of each page, by the options of a scrape."""

import base64
import json
from functools import partial
from typing import Any

import httpx2

from tests.api.v1.test_jobs import error_of, finish, get, start
from tests.api.working import Answer, is_over, until
from tests.site import Site

RENDER_SECONDS = 300
PAGE = {"includeContent": "true"}


async def problems_of(client: httpx2.AsyncClient, **body: Any) -> dict[str, str]:
    response = await client.post("/v1/crawl", json=body)
    assert error_of(response) == (400, "VALIDATION_ERROR")
    found = response.json()["error"]["validationErrors"]
    return {problem["field"]: problem["message"] for problem in found}


async def export_lines(client: httpx2.AsyncClient, path: str, **query: str) -> list[Answer]:
    response = await client.get(f"{path}/export", params=query)
    assert response.status_code == 200, response.text
    return [json.loads(line) for line in response.text.splitlines()]


async def test_a_crawl_keeps_the_formats_of_each_page(
    working: httpx2.AsyncClient, site: Site
) -> None:
    formats = ["html", "rawHtml", "links", "linksDetail", "summary"]
    options = {"formats": formats, "excludeTags": ["ul"]}
    crawl = await finish(working, url=site.url("/shelf?books=1"), scrapeOptions=options)
    path = f"/v1/crawl/{crawl['crawlId']}"
    assert all("html" not in page for page in crawl["pages"])
    shown = (await working.get(path, params=PAGE)).json()["pages"]
    by_url = {page["url"]: page for page in shown}
    shelf = by_url[site.url("/shelf?books=1")]
    assert shelf["html"].startswith("<")
    assert "<title>Shelf</title>" in shelf["rawHtml"]
    assert site.url("/lost") in shelf["links"]
    assert site.url("/lost") in {link["url"] for link in shelf["linksDetail"]}
    assert "This shelf holds" in shelf["summary"]
    assert "Book 0" not in shelf["content"]
    include = "html,links,linksDetail,summary,extracted,screenshot"
    lines = await export_lines(working, path, include=include)
    line = next(line for line in lines if line["url"] == shelf["url"])
    shared = ("html", "links", "linksDetail", "summary")
    assert {name: line[name] for name in shared} == {name: shelf[name] for name in shared}
    assert (line["extracted"], line["screenshot"]) == (None, None)
    refused = await working.get(f"{path}/export", params={"format": "warc", "include": "links"})
    assert error_of(refused) == (400, "VALIDATION_ERROR")


async def test_a_crawl_fills_a_schema_for_each_page(
    working: httpx2.AsyncClient, site: Site
) -> None:
    schema = {"properties": {"title": {"type": "string"}}, "required": ["title"]}
    options = {"extractSchema": schema}
    crawl = await finish(working, url=site.url("/shelf?books=1"), scrapeOptions=options)
    lines = await export_lines(working, f"/v1/crawl/{crawl['crawlId']}", include="extracted")
    found = {line["url"]: json.loads(line["extracted"]) for line in lines if line["extracted"]}
    assert found[site.url("/shelf?books=1")]["data"] == {"title": "Shelf"}
    assert found[site.url("/shelf?books=1")]["proof"]
    invalid = {"extractSchema": {"type": "shelf"}}
    problems = await problems_of(working, url=site.url("/shelf?books=1"), scrapeOptions=invalid)
    assert all("extractSchema" in field for field in problems)


async def test_a_crawl_without_options_shows_its_content_alone(
    working: httpx2.AsyncClient, site: Site
) -> None:
    crawl = await finish(working, url=site.url("/book?n=1"), maxDepth=1)
    [page] = (await working.get(f"/v1/crawl/{crawl['crawlId']}", params=PAGE)).json()["pages"]
    assert "content" in page
    assert {"html", "links", "summary"}.isdisjoint(page)


async def test_what_does_not_fit_the_answer_is_named(
    working: httpx2.AsyncClient, site: Site
) -> None:
    body = {"urls": [site.url("/book?n=1")], "formats": ["markdown", "html"]}
    batch = (await working.post("/api/v2/scrape", json=body)).json()["data"]["jobId"]
    await until(partial(get, working, f"/v1/batch/{batch}"), is_over)
    asked = {"command": "status", "jobId": batch, "includeContent": True, "maxChars": 2_500}
    [page] = (await working.post("/api/v2/scrape", json=asked)).json()["data"]["pages"]
    assert "html" not in page
    assert "Too long to be shown here: html." in page["warning"]


async def test_a_batch_shows_the_formats_of_each_page(
    working: httpx2.AsyncClient, site: Site
) -> None:
    body = {"urls": [site.url("/book?n=1")], "formats": ["markdown", "links", "html"]}
    batch = (await working.post("/api/v2/scrape", json=body)).json()["data"]["jobId"]
    await until(partial(get, working, f"/v1/batch/{batch}"), is_over)
    [page] = (await working.get(f"/v1/batch/{batch}", params=PAGE)).json()["pages"]
    assert page["html"].startswith("<")
    assert page["links"] == []


async def test_options_that_a_crawl_cannot_take_are_refused(
    working: httpx2.AsyncClient, site: Site
) -> None:
    url = site.url("/book?n=1")
    formats = {"formats": ["screenshot", "fullscreenshot", "changeTracking"]}
    found = await problems_of(working, url=url, scrapeOptions=formats)
    assert set(found) == {"scrapeOptions.formats"}
    found = await problems_of(working, url=url, scrapeOptions={"includeTags": ["<"]})
    assert set(found) == {"scrapeOptions.includeTags[0]"}
    found = await problems_of(working, url=url, scrapeOptions={"maxAge": 1})
    assert set(found) == {"scrapeOptions.maxAge"}
    found = await problems_of(working, url=url, render=True, scrapeOptions={"mode": "static"})
    assert set(found) == {"scrapeOptions.mode"}
    static = {"mode": "static", "formats": ["screenshot"]}
    assert set(await problems_of(working, url=url, scrapeOptions=static)) == {"mode"}


async def test_a_crawl_keeps_and_exports_screenshots(
    working: httpx2.AsyncClient, site: Site
) -> None:
    options = {"formats": ["screenshot"]}
    url = site.url("/book?n=1")
    started = await start(working, url=url, maxDepth=1, scrapeOptions=options)
    path = f"/v1/crawl/{started['crawlId']}"
    crawl = await until(partial(get, working, path), is_over, seconds=RENDER_SECONDS)
    assert "screenshot" in crawl["pages"][0]["savedUris"]
    [line] = await export_lines(working, path, include="screenshot")
    assert base64.b64decode(line["screenshot"]).startswith(b"\x89PNG")


async def test_a_render_crawl_finds_the_routes_of_a_single_page_application(
    working: httpx2.AsyncClient, site: Site
) -> None:
    """The application is a real build: its only HTML file has neither text nor links."""
    body = {"url": site.url("/router/"), "maxDepth": 3, "scrapeOptions": {"mode": "dynamic"}}
    path = f"/v1/crawl/{(await start(working, **body))['crawlId']}"
    await until(partial(get, working, path), is_over, seconds=RENDER_SECONDS)
    lines = await export_lines(working, path)
    texts = {line["url"].partition("/router/")[2]: line["markdown"] for line in lines}
    assert set(texts) == {"", "tides", "lights", "lights/skerry", "lights/sandbar"}
    words = {
        "": "the lamps burning along the whole of the breakwater",
        "tides": "High water comes fifty minutes later every day",
        "lights": "Two lights guide ships into the harbour",
        "lights/skerry": "a can of colza oil",
        "lights/sandbar": "it hangs from a ship",
    }
    for route, sentence in words.items():
        assert [name for name, text in texts.items() if sentence in text] == [route]
    titles = {line["url"].partition("/router/")[2]: line["title"] for line in lines}
    assert (titles[""], titles["tides"], titles["lights"]) == ("Harbour", "Tides", "Lights")
    for light in ("lights/skerry", "lights/sandbar"):
        assert "This was written down by the pilots." in texts[light]
