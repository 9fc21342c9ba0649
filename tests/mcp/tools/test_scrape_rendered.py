"""The tool `scrape` with a real browser; the client holds each answer against the output schema."""

import base64
from typing import Any

import mcp_types as types

from cinder.mcp.scrape_result import read_png
from tests.mcp.conftest import Call, Connect
from tests.mcp.reading import kinds_of, text_of, unmarked
from tests.site import Site


async def test_full_page_screenshot_is_scaled_and_its_original_readable(
    connect: Connect, site: Site
) -> None:
    arguments = {"url": site.url("/form"), "format": "fullscreenshot"}
    async with connect() as client:
        await client.list_tools()
        result = unmarked(await client.call_tool("scrape", arguments))
        assert kinds_of(result) == ["resource_link", "text", "image"]
        link, _, image = result.content
        assert isinstance(image, types.ImageContent)
        assert isinstance(link, types.ResourceLink)
        (whole,) = (await client.read_resource(link.uri)).contents
    assert isinstance(whole, types.BlobResourceContents)
    shown, original = (read_png(base64.b64decode(data)) for data in (image.data, whole.blob))
    assert shown is not None
    assert original is not None
    assert shown.height == 1_568 < original.height


async def test_actions_come_as_text_and_images(call: Call, site: Site) -> None:
    actions: list[dict[str, Any]] = [
        {"type": "click", "selector": "#more"},
        {"type": "wait", "milliseconds": 300},
        {"type": "scrape", "selector": "#log"},
        {"type": "screenshot"},
        {"type": "executeJavascript", "script": "return [1, null]"},
    ]
    result = unmarked(await call("scrape", url=site.url("/form"), actions=actions))
    assert kinds_of(result) == ["resource", "text", "text", "image"]
    assert "more came" in text_of(result)
    data = result.structured_content
    assert [action["type"] for action in data["actions"]] == [a["type"] for a in actions]
    assert data["actions"][4]["result"] == "[1, null]"


async def test_actions_may_come_as_json_in_a_string(call: Call, site: Site) -> None:
    actions = '[{"type": "executeJavascript", "script": "return document.title"}]'
    result = await call("scrape", url=site.url("/form"), actions=actions)
    assert result.structured_content["actions"][0]["result"] == "Form"
