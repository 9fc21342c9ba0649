"""tests.mcp.tools.test_scrape"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from tests.mcp.conftest import Call, Connect
from tests.mcp.reading import error_of, kinds_of, text_of, unmarked
from tests.resolver import TableResolver
from tests.site import Canary, Site


def nulls_in(value: Any) -> bool:
    if isinstance(value, dict):
        return any(nulls_in(inner) for inner in value.values())
    if isinstance(value, list):
        return any(nulls_in(inner) for inner in value)
    return value is None


async def test_saved_page_is_embedded_under_its_uri_before_its_header(
    call: Call, site: Site
) -> None:
    result = unmarked(await call("scrape", url=site.url("/article")))
    body, header = result.content
    uris = result.structured_content["savedUris"]
    assert isinstance(body, types.EmbeddedResource)
    assert isinstance(body.resource, types.TextResourceContents)
    assert body.resource.uri == uris["cleaned"]
    assert body.resource.mime_type == "text/markdown"
    assert body.resource.text == result.structured_content["content"]
    assert isinstance(header, types.TextContent)
    for fact in (site.url("/article"), "Title: Ember care", "Status: 200", "Source: native"):
        assert fact in header.text
    for fact in ("Fresh", result.structured_content["timestamp"], "Verdict: ok", uris["raw"]):
        assert fact in header.text


async def test_structured_content_is_complete_and_without_nulls(call: Call, site: Site) -> None:
    data = (await call("scrape", url=site.url("/article"))).structured_content
    assert "Rake the ash aside" in data["content"]
    assert data["contentType"] == "text/markdown"
    assert (data["url"], data["source"], data["cached"], data["verdict"]) == (
        site.url("/article"),
        "native",
        False,
        "ok",
    )
    assert data["metadata"]["title"] == "Ember care"
    assert not nulls_in(data)


async def test_blocks_say_for_whom_how_important_and_how_old_they_are(
    call: Call, site: Site
) -> None:
    result = unmarked(await call("scrape", url=site.url("/article")))
    body, header = (block.annotations for block in result.content)
    assert body is not None
    assert header is not None
    assert (body.audience, body.priority) == (["assistant"], 1.0)
    assert (header.audience, header.priority) == (["user", "assistant"], 0.5)
    assert body.last_modified == result.structured_content["timestamp"]


async def test_return_only_is_one_text_with_header_and_body(call: Call, site: Site) -> None:
    result = unmarked(await call("scrape", url=site.url("/article"), resultHandling="returnOnly"))
    assert kinds_of(result) == ["text"]
    header, body = text_of(result).split("\n\n", 1)
    assert "Verdict: ok" in header
    assert body == result.structured_content["content"]
    assert "savedUris" not in result.structured_content


async def test_save_only_is_one_link(call: Call, site: Site) -> None:
    result = unmarked(await call("scrape", url=site.url("/article"), resultHandling="saveOnly"))
    (link,) = result.content
    assert isinstance(link, types.ResourceLink)
    assert link.uri == result.structured_content["savedUris"]["cleaned"]
    assert link.name == "Ember care"
    assert link.mime_type == "text/markdown"
    assert "content" not in result.structured_content


async def test_second_scrape_comes_from_the_cache_and_says_so(call: Call, site: Site) -> None:
    await call("scrape", url=site.url("/article"))
    result = await call("scrape", url=site.url("/article"))
    assert result.structured_content["cached"] is True
    assert "Cached" in text_of(result)
    assert site.hits("/article") == 1


async def test_links_format_is_a_list(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/article"), format="links")
    link = site.url("/coals?x=1")
    assert link in result.structured_content["links"]
    assert link in text_of(result).split("\n")
    assert "Verdict: ok" in text_of(result)
    assert "content" not in result.structured_content


async def test_every_format_asked_for_stands_in_content_too(call: Call, site: Site) -> None:
    formats = ["markdown", "html", "rawHtml", "links", "images"]
    result = unmarked(await call("scrape", url=site.url("/article"), formats=formats))
    data = result.structured_content
    assert kinds_of(result) == ["resource", "text", "text", "text", "text", "text"]
    for value in (data["content"], data["html"], data["rawHtml"], *data["links"], *data["images"]):
        assert value in text_of(result)


async def test_long_page_is_cut_and_says_how_to_go_on(
    call: Call, site: Site, settings: Settings
) -> None:
    result = await call("scrape", url=site.url("/long"))
    data = result.structured_content
    next_index = data["metadata"]["nextStartIndex"]
    assert len(data["content"]) == next_index
    assert data["metadata"]["wasTruncated"] is True
    for way in (f"startIndex {next_index}", data["savedUris"]["cleaned"]):
        assert way in data["metadata"]["continuation"]
        assert way in text_of(result)
    assert len(text_of(result)) <= settings.server.mcp_result_max_chars


async def test_pages_of_a_long_text_join_to_the_whole(connect: Connect, site: Site) -> None:
    arguments: dict[str, Any] = {"url": site.url("/long"), "maxChars": 100_000}
    async with connect() as client:
        parts: list[str] = []
        data: dict[str, Any] = {"metadata": {"nextStartIndex": 0}}
        while "nextStartIndex" in data["metadata"]:
            arguments["startIndex"] = data["metadata"]["nextStartIndex"]
            data = (await client.call_tool("scrape", arguments)).structured_content
            parts.append(data["content"])
        saved = await client.read_resource(data["savedUris"]["cleaned"])
    (whole,) = saved.contents
    assert isinstance(whole, types.TextResourceContents)
    assert "".join(parts) == whole.text
    assert len(parts) > 1


async def test_formats_share_an_explicit_size(call: Call, site: Site) -> None:
    result = await call(
        "scrape", url=site.url("/long"), formats=["markdown", "rawHtml"], maxChars=5_000
    )
    data = result.structured_content
    assert 2_490 < len(data["content"]) == len(data["rawHtml"]) <= 2_500


async def test_many_links_are_cut_to_the_size(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/article"), format="links", maxChars=60)
    data = result.structured_content
    assert len(data["links"]) == 2
    assert "Only the first 2 of 3 links are shown." in data["metadata"]["continuation"]
    assert data["metadata"]["continuation"] in text_of(result)


async def test_lists_and_objects_may_come_as_json_in_a_string(call: Call, site: Site) -> None:
    result = await call(
        "scrape",
        url=site.url("/echo"),
        formats='["rawHtml"]',
        headers='{"X-Ember": "glow"}',
    )
    assert json.loads(result.structured_content["content"])["x-ember"] == "glow"


async def test_html_is_no_single_format(call: Call) -> None:
    error = error_of(await call("scrape", url="https://example.com", format="html"))
    for allowed in ("'markdown'", "'links'", "'screenshot'", "'fullscreenshot'"):
        assert allowed in error


async def test_format_and_formats_exclude_each_other(call: Call) -> None:
    result = await call("scrape", url="https://example.com", format="links", formats=["markdown"])
    assert "- format: Give either format or formats, not both" in error_of(result)


async def test_unknown_key_is_answered_with_the_nearest(call: Call) -> None:
    error = error_of(await call("scrape", url="https://example.com", maxChar=3))
    assert "- maxChar: Unknown key. Did you mean 'maxChars'?" in error


async def test_missing_url_is_named(call: Call) -> None:
    assert "- url: Required" in error_of(await call("scrape"))


async def test_data_is_extracted_beside_the_page(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/ware?name=kettle"), extract="the price")
    data = dict(result.structured_content or {})
    assert data["extracted"]["data"] == {"price": 49.5}
    told = [block.text for block in result.content if isinstance(block, types.TextContent)]
    assert any(text.startswith("extracted:\n{") for text in told)


async def test_batches_and_single_pages_are_kept_apart(call: Call) -> None:
    result = await call("scrape", url="https://example.com", offset=1)
    assert "- offset: Only for batches" in error_of(result)


@pytest.mark.parametrize("tool", ["scrape", "cinder_scrape"])
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:22/",
        "http://127.0.0.1:{canary}/",
        "http://[::ffff:10.0.0.1]/",
        "http://2130706433/",
        "http://private.test/",
        "http://site.test:{site}/redirect?to=http://127.0.0.1:{canary}/",
    ],
)
async def test_private_addresses_are_refused_and_never_reached(
    call: Call, site: Site, canary: Canary, tool: str, url: str
) -> None:
    result = await call(tool, url=url.format(site=site.port, canary=canary.port))
    error = error_of(result)
    assert error.startswith("EGRESS_BLOCKED: ")
    assert "CINDER_EGRESS__ALLOW" in error
    assert "10.1.2.3" not in error
    assert not canary.was_reached()


async def test_http_error_is_a_failure_with_diagnostics(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/status?code=404"))
    error = error_of(result)
    assert error.startswith("TARGET_HTTP_ERROR: ")
    assert "404" in error
    assert "The server has no such page" in error
    diagnostics = json.loads(error.rpartition("Diagnostics: ")[2])
    assert set(diagnostics) == {"strategiesAttempted", "strategyErrors", "timing"}
    assert len(diagnostics["strategiesAttempted"]) == 1
    assert result.structured_content is None
    assert len(error) < 1_000


async def test_timeout_is_a_failure(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/silent"), timeout=100)
    assert error_of(result).startswith("SCRAPE_TIMEOUT: ")


BOTH_ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


@pytest.fixture
async def app(settings: Settings, resolver: TableResolver) -> AsyncIterator[App]:
    """One that works on jobs."""
    async with open_app(settings, resolver=resolver, works_on_jobs=True) as opened:
        yield opened


def data_of(result: types.CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text_of(result)
    return dict(result.structured_content or {})


async def finish(client: Client, job_id: str) -> types.CallToolResult:
    """Return the status of a batch once it is over."""
    async with asyncio.timeout(60):
        while True:
            status = await client.call_tool("scrape", {"command": "status", "jobId": job_id})
            if data_of(status)["status"] != "scraping":
                return status
            await asyncio.sleep(0.05)  # the tool says when it is asked, and only then


@BOTH_ERAS
async def test_a_batch_is_started_and_looked_after_by_commands(
    connect: Connect, site: Site
) -> None:
    urls = [site.url("/article"), site.url("/status?code=404"), site.url("/article"), "http://"]
    async with connect() as client:
        await client.list_tools()
        start = await client.call_tool("scrape", {"urls": urls})
        batch = data_of(start)
        assert text_of(unmarked(start)).startswith(
            "Batch scrape started for 3 URLs. Use jobId 'batch-"
        )
        assert (batch["status"], batch["urls"], batch["duplicates"]) == ("scraping", 3, 1)
        status = await finish(client, batch["jobId"])
        arguments = {"command": "errors", "jobId": batch["jobId"]}
        errors = await client.call_tool("scrape", arguments)
        arguments["command"] = "cancel"
        cancelled = await client.call_tool("scrape", arguments)
    assert text_of(unmarked(status)).startswith(
        "Batch scrape completed: 3/3 URLs completed (100%)\n{"
    )
    pages = data_of(status)["pages"]
    assert [page["url"] for page in pages] == [site.url("/article")]
    assert pages[0]["savedUris"]["cleaned"] in text_of(status)
    assert text_of(unmarked(errors)).startswith("Found 2 errors in batch scrape\n")
    assert "404" in str(data_of(errors)["errors"])
    assert text_of(unmarked(cancelled)).startswith("Batch scrape was over before: completed")


async def test_a_batch_keeps_the_format_that_it_was_started_with(
    connect: Connect, site: Site
) -> None:
    async with connect() as client:
        arguments: dict[str, Any] = {"urls": [site.url("/article")], "format": "links"}
        start = data_of(await client.call_tool("scrape", arguments))
        await finish(client, start["jobId"])
        arguments = {"command": "status", "jobId": start["jobId"], "includeContent": True}
        page = data_of(await client.call_tool("scrape", arguments))["pages"][0]
    assert "savedUris" in page


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"command": "status"}, "- jobId: Required"),
        ({"command": "status", "jobId": "batch-none", "format": "links"}, "- format: "),
        ({"url": "a.example", "urls": ["b.example"]}, "- urls: Give either url or urls"),
        ({"urls": ["http://"]}, "- urls[0]: "),
        ({"urls": ["a.example"], "resultHandling": "returnOnly"}, "- resultHandling: "),
    ],
)
async def test_wrong_arguments_are_named(call: Call, arguments: dict[str, Any], told: str) -> None:
    assert told in error_of(await call("scrape", **arguments))


@pytest.mark.parametrize("command", ["status", "cancel", "errors"])
async def test_an_unknown_batch_is_told_with_what_to_do(call: Call, command: str) -> None:
    failure = error_of(await call("scrape", command=command, jobId="batch-none"))
    assert failure.startswith("BATCH_NOT_FOUND: ")
    assert "urls" in failure


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


async def test_a_busy_servers_page_says_when_to_ask_again(call: Call, site: Site) -> None:
    url = site.url("/flaky?failures=9&retry-after=3600")
    result = await call("cinder_scrape", url=url)
    assert result.structured_content["retryAfter"] == 3600
    assert "Retry after: 3600 s" in text_of(result)
    failure = error_of(await call("scrape", url=url))
    assert failure.startswith("TARGET_HTTP_ERROR: ")
    assert "wait for 3600 seconds" in failure


@pytest.mark.parametrize("tool", ["scrape", "cinder_scrape"])
async def test_a_url_without_a_scheme_may_be_served_over_http(
    call: Call, site: Site, tool: str
) -> None:
    result = await call(tool, url=f"{site.address}/article")
    assert result.structured_content["url"] == site.url("/article")
    assert "http:// was used" in result.structured_content["warning"]


async def test_a_blocked_page_is_an_error_of_its_own(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/wall?code=403"), mode="static")
    assert error_of(result).startswith("BLOCKED: ")


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
