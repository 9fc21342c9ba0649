"""`extract` of POST /api/v2/scrape: data from the page, beside its content."""

import json
from typing import Any

import httpx2

from tests.api.working import is_over, until
from tests.services.extraction.wares import urls_of
from tests.site import Site


async def scrape(client: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    response = await client.post("/api/v2/scrape", json=body, timeout=60)
    answer = response.json()
    assert answer["success"], answer
    return dict(answer["data"])


async def test_data_comes_with_the_page_and_is_kept(client: httpx2.AsyncClient, site: Site) -> None:
    (url,) = urls_of(site, "kettle")
    wanted = {"url": url, "extract": "the product name and price", "formats": ["markdown"]}
    data = await scrape(client, **wanted)
    assert data["extracted"]["data"] == {"productName": "Iron Kettle", "price": 49.5}
    assert data["extracted"]["proof"][1]["quote"] == "$49.50"
    assert data["content"].startswith("# Iron Kettle")
    assert set(data["savedUris"]) == {"raw", "cleaned", "extracted"}
    length = data["metadata"]["extractedLength"]
    again = await scrape(client, **wanted)
    assert again["cached"] is True
    assert again["extracted"] == data["extracted"]
    assert length == len(json.dumps(data["extracted"], ensure_ascii=False))


async def test_other_words_are_another_answer(client: httpx2.AsyncClient, site: Site) -> None:
    (url,) = urls_of(site, "kettle")
    await scrape(client, url=url, extract="price")
    data = await scrape(client, url=url, extract="weight")
    assert (data["cached"], data["extracted"]["data"]) == (False, {"weight": "2.4 kg"})
    plain = await scrape(client, url=url)
    assert "extracted" not in plain


async def test_data_is_extracted_whatever_the_formats(
    client: httpx2.AsyncClient, site: Site
) -> None:
    (url,) = urls_of(site, "kettle")
    data = await scrape(client, url=url, extract="price", formats=["html"])
    assert data["extracted"]["data"] == {"price": 49.5}
    assert data["contentType"] == "text/html"


async def test_a_page_without_what_is_wanted_is_still_a_page(
    client: httpx2.AsyncClient, site: Site
) -> None:
    data = await scrape(client, url=site.url("/article"), extract="the price")
    assert "extracted" not in data
    assert "Nothing that `extract` asks for" in data["warning"]
    assert data["content"]


async def test_of_a_file_nothing_is_extracted_and_that_is_said(
    client: httpx2.AsyncClient, site: Site
) -> None:
    data = await scrape(client, url=site.url("/image"), extract="the price")
    assert "without text" in data["warning"]


async def test_every_page_of_a_batch_is_extracted_from(
    working: httpx2.AsyncClient, site: Site
) -> None:
    urls = list(urls_of(site, "kettle", "poker"))
    started = await scrape(working, urls=urls, extract="the price")

    async def look() -> dict[str, Any]:
        return await scrape(working, command="status", jobId=started["jobId"], includeContent=True)

    status = await until(look, is_over)
    found = [json.loads(page["content"])["data"] for page in status["pages"]]
    assert sorted(each["price"] for each in found) == [18.25, 49.5]


# The page has no `sku`, and the schema does not describe it.
SCHEMA = {"properties": {"price": {"type": "number"}}, "required": ["price", "sku"]}


async def test_a_schema_is_filled_for_the_page_and_kept(
    client: httpx2.AsyncClient, site: Site
) -> None:
    (url,) = urls_of(site, "kettle")
    data = await scrape(client, url=url, extractSchema=SCHEMA)
    extracted = data["extracted"]
    assert extracted["data"] == {"price": 49.5}
    assert "sku" in extracted["schemaErrors"][0]
    again = await scrape(client, url=url, extractSchema=SCHEMA)
    assert (again["cached"], again["extracted"]) == (True, extracted)
    other = {"properties": {"weight": {"type": "string"}}}
    data = await scrape(client, url=url, extractSchema=other)
    assert (data["cached"], data["extracted"]["data"]) == (False, {"weight": "2.4 kg"})
    assert "extracted" not in await scrape(client, url=url)


async def test_an_invalid_schema_is_named(client: httpx2.AsyncClient, site: Site) -> None:
    (url,) = urls_of(site, "kettle")
    wrong = {"properties": {"price": {"type": "money"}}}
    for where in ({"url": url}, {"urls": [url]}):
        response = await client.post("/api/v2/scrape", json={**where, "extractSchema": wrong})
        assert response.status_code == 400
        [problem] = response.json()["error"]["validationErrors"]
        assert problem["field"].startswith("extractSchema.properties.price")
