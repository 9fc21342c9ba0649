import json

from cinder.config import Settings
from tests.site import Site
from tests.surfaces.mcp.conftest import Call
from tests.surfaces.mcp.reading import error_of, text_of, unmarked


async def test_page_comes_with_its_metadata(call: Call, site: Site) -> None:
    data = (await call("cinder_scrape", url=site.url("/article"))).structured_content
    assert "Rake the ash aside" in data["content"]
    assert (data["title"], data["statusCode"], data["verdict"]) == ("Ember care", 200, "ok")
    assert data["metadata"]["author"] == "Ada Stoker"
    assert data["metadata"]["keywords"] == ["fire", "ash", "ember"]
    assert data["metadata"]["description"] == "How to keep a fire overnight."
    assert data["metadata"]["publishDate"].startswith("2025-11-15")


async def test_text_says_what_the_structured_content_says(call: Call, site: Site) -> None:
    result = unmarked(await call("cinder_scrape", url=site.url("/article")))
    data = result.structured_content
    header, body = text_of(result).split("\n\n", 1)
    assert body == data["content"]
    assert f"Metadata: {json.dumps(data['metadata'], ensure_ascii=False)}" in header
    assert f"Load time: {data['loadTime']} ms" in header
    assert "Status: 200" in header
    assert data["savedUri"] in header


async def test_metadata_can_be_left_out(call: Call, site: Site) -> None:
    result = await call("cinder_scrape", url=site.url("/article"), includeMetadata=False)
    assert "metadata" not in result.structured_content
    assert "Metadata" not in text_of(result)


async def test_page_with_an_http_error_is_returned(call: Call, site: Site) -> None:
    result = await call("cinder_scrape", url=site.url("/status?code=404"))
    assert not result.is_error
    data = result.structured_content
    assert (data["statusCode"], data["verdict"]) == (404, "http_error")
    assert "Sorry" in data["content"]
    assert "http_error" in text_of(result)


async def test_json_content_can_be_parsed(call: Call, site: Site) -> None:
    result = await call("cinder_scrape", url=site.url("/article"), returnFormat="json")
    page = json.loads(result.structured_content["content"])
    assert page["title"] == "Ember care"
    assert {"metadata", "outline", "sections", "tables", "links", "jsonLd"} <= set(page)


async def test_html_content_keeps_the_structure(call: Call, site: Site) -> None:
    result = await call("cinder_scrape", url=site.url("/article"), returnFormat="html")
    assert "<h2>In the morning</h2>" in result.structured_content["content"]


async def test_long_page_is_cut_with_a_pointer_to_the_whole(
    call: Call, site: Site, settings: Settings
) -> None:
    result = await call("cinder_scrape", url=site.url("/long"))
    data = result.structured_content
    assert data["savedUri"] in data["warning"]
    assert data["warning"] in text_of(result)
    assert len(text_of(result)) <= settings.server.mcp_result_max_chars


async def test_file_is_told_by_its_type_and_size(call: Call, site: Site) -> None:
    data = (await call("cinder_scrape", url=site.url("/image"))).structured_content
    assert "image/png" in data["content"]
    assert "`scrape`" in data["content"]


async def test_pdf_is_always_parsed(call: Call, site: Site) -> None:
    url = site.url("/document?name=leaflet.pdf")
    data = (await call("cinder_scrape", url=url)).structured_content
    assert "| Oak | 9 | high |" in data["content"]
    assert data["metadata"]["pageCount"] == 2


async def test_encrypted_pdf_is_declined_with_what_to_do(call: Call, site: Site) -> None:
    url = site.url("/document?name=encrypted.pdf")
    error = error_of(await call("cinder_scrape", url=url))
    assert error.startswith("UNSUPPORTED: ")
    assert "password" in error
    assert "without `parsers`" in error


async def test_url_without_scheme_means_https(call: Call) -> None:
    error = error_of(await call("cinder_scrape", url="nowhere.test"))
    assert error.startswith("DNS_ERROR: ")
    assert "nowhere.test" in error
