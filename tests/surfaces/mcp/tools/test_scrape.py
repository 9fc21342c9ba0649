import json
from typing import Any

import mcp_types as types
import pytest

from cinder.config import Settings
from tests.site import Canary, Site
from tests.surfaces.mcp.conftest import Call, Connect
from tests.surfaces.mcp.reading import error_of, kinds_of, text_of, unmarked


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
    assert error.startswith("SCRAPE_FAILED: ")
    assert "404" in error
    diagnostics = json.loads(error.rpartition("Diagnostics: ")[2])
    assert set(diagnostics) == {"strategiesAttempted", "strategyErrors", "timing"}
    assert len(diagnostics["strategiesAttempted"]) == 1
    assert result.structured_content is None
    assert len(error) < 1_000


async def test_timeout_is_a_failure(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/silent"), timeout=100)
    assert error_of(result).startswith("SCRAPE_TIMEOUT: ")
