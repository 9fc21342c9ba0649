import json
from typing import Any

import httpx2
import pytest

from tests.site import Site


async def scrape(client: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    response = await client.post("/v1/scrape", json=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def test_a_page_comes_with_its_metadata(client: httpx2.AsyncClient, site: Site) -> None:
    answer = await scrape(client, url=site.url("/article"))
    assert answer["url"] == site.url("/article")
    assert answer["title"] == "Ember care"
    assert answer["content"].startswith("# Ember care")
    assert answer["statusCode"] == 200
    assert answer["loadTime"] >= 0
    assert answer["verdict"] == "ok"
    metadata = answer["metadata"]
    assert metadata["description"] == "How to keep a fire overnight."
    assert metadata["author"] == "Ada Stoker"
    assert metadata["keywords"] == ["fire", "ash", "ember"]
    assert metadata["publishDate"].startswith("2025-11-15T18:30:00")


async def test_metadata_can_be_left_out(client: httpx2.AsyncClient, site: Site) -> None:
    answer = await scrape(client, url=site.url("/article"), includeMetadata=False)
    assert "metadata" not in answer


async def test_html_keeps_the_structure(client: httpx2.AsyncClient, site: Site) -> None:
    answer = await scrape(client, url=site.url("/article"), returnFormat="html")
    assert "<h1>Ember care</h1>" in answer["content"]


async def test_json_has_outline_sections_tables_and_links(
    client: httpx2.AsyncClient, site: Site
) -> None:
    answer = await scrape(client, url=site.url("/article"), returnFormat="json", mode="static")
    page = json.loads(answer["content"])
    assert [(part["level"], part["title"]) for part in page["outline"]] == [
        (1, "Ember care"),
        (2, "In the morning"),
    ]
    assert page["sections"][1]["text"].startswith("Rake the ash aside")
    assert page["tables"] == [[["Wood", "Hours"], ["Oak", "9"]]]
    assert site.url("/coals?x=1") in page["links"]
    assert page["jsonLd"] == [{"@type": "Article", "headline": "Ember care"}]


async def test_a_page_has_an_outline_and_is_read_in_parts(
    client: httpx2.AsyncClient, site: Site
) -> None:
    whole = await scrape(client, url=site.url("/guide"))
    assert whole["outline"][1]["id"] == "oak"
    section = await scrape(client, url=site.url("/guide"), section="Banking a fire")
    assert section["content"].startswith("## Banking a fire\n")
    assert section["section"]["id"] == "banking-a-fire"
    found = await scrape(client, url=site.url("/guide"), query="close the damper")
    assert found["passages"][0]["section"] == "banking-a-fire"
    assert found["warning"] == "One passage matches the query in the text."
    assert site.hits("/guide") == 1


async def test_an_http_error_page_is_returned_with_its_status(
    client: httpx2.AsyncClient, site: Site
) -> None:
    answer = await scrape(client, url=site.url("/status?code=404"))
    assert (answer["statusCode"], answer["verdict"]) == (404, "http_error")
    assert "Sorry" in answer["content"]


async def test_a_file_is_named_rather_than_returned(client: httpx2.AsyncClient, site: Site) -> None:
    answer = await scrape(client, url=site.url("/image"))
    assert "image/png" in answer["content"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "VALIDATION_ERROR"),
        ({"url": "a.example", "mode": "quick"}, 400, "VALIDATION_ERROR"),
        ({"url": "a.example", "returnformat": "html"}, 400, "VALIDATION_ERROR"),
        ({"url": "a.example", "section": "a", "returnFormat": "html"}, 400, "VALIDATION_ERROR"),
        ({"url": "http://nowhere.test/", "mode": "dynamic"}, 424, "DNS_ERROR"),
        ({"url": "http://127.0.0.1:22/"}, 403, "EGRESS_BLOCKED"),
        ({"url": "http://nowhere.test/"}, 424, "DNS_ERROR"),
    ],
)
async def test_errors_have_a_code_and_its_status(
    client: httpx2.AsyncClient, body: dict[str, Any], status: int, code: str
) -> None:
    response = await client.post("/v1/scrape", json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


async def test_a_pdf_is_always_parsed(client: httpx2.AsyncClient, site: Site) -> None:
    url = site.url("/document?name=leaflet.pdf")
    data = (await client.post("/v1/scrape", json={"url": url})).json()
    assert data["content"].startswith("<!-- page 1 -->\n\n# Ember care")
    assert data["metadata"]["pageCount"] == 2
    assert data["title"] == "Ember care"


async def test_a_broken_pdf_is_a_clear_error(client: httpx2.AsyncClient, site: Site) -> None:
    response = await client.post("/v1/scrape", json={"url": site.url("/paper")})
    assert (response.status_code, response.json()["error"]["code"]) == (422, "UNSUPPORTED")
