"""What a real browser brings home, in the answers of POST /api/v2/scrape."""

import base64
from typing import Any

import httpx2

from cinder.mcp.scrape_result import read_png
from tests.site import Site


async def scrape(client: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    response = await client.post("/api/v2/scrape", json=body)
    assert response.status_code == 200, response.text
    data: dict[str, Any] = response.json()["data"]
    return data


async def test_a_screenshot_is_bare_base64_beside_the_content(
    client: httpx2.AsyncClient, site: Site
) -> None:
    body = {"url": site.url("/article"), "formats": ["markdown", "screenshot"]}
    data = await scrape(client, **body)
    assert data["content"].startswith("# Ember care")
    assert (data["source"], data["screenshotFormat"]) == ("browser", "image/png")
    assert read_png(base64.b64decode(data["screenshot"])) is not None
    assert list(data["savedUris"]) == ["raw", "cleaned", "screenshot"]
    again = await scrape(client, **body)
    assert again["cached"] is True
    assert again["screenshot"] == data["screenshot"]


async def test_a_full_page_screenshot_is_longer_than_a_window(
    client: httpx2.AsyncClient, site: Site
) -> None:
    data = await scrape(client, url=site.url("/form"), formats=["fullscreenshot"])
    picture = read_png(base64.b64decode(data["fullscreenshot"]))
    assert picture is not None
    assert picture.height > 3_000
    assert "content" not in data


async def test_actions_are_answered_in_order_from_the_cache_too(
    client: httpx2.AsyncClient, site: Site
) -> None:
    body = {
        "url": site.url("/form"),
        "formats": ["markdown"],
        "actions": [
            {"type": "write", "selector": "#name", "text": "Ada"},
            {"type": "press", "key": "Enter"},
            {"type": "scrape", "selector": "#log"},
            {"type": "screenshot", "name": "after"},
            {"type": "executeJavascript", "script": "return {words: [1, null]}"},
        ],
    }
    data = await scrape(client, **body)
    written, pressed, scraped, photographed, ran = data["actions"]
    assert set(written) == set(pressed) == {"type", "message", "elapsedMs"}
    assert "submitted Ada" in scraped["html"]
    assert "submitted Ada" in scraped["markdown"]
    assert photographed["name"] == "after"
    assert read_png(base64.b64decode(photographed["screenshot"])) is not None
    assert ran["result"] == {"words": [1, None]}
    again = await scrape(client, **body)
    assert again["cached"] is True
    assert again["actions"] == data["actions"]


async def test_an_action_that_cannot_be_done_is_named(
    client: httpx2.AsyncClient, site: Site
) -> None:
    actions = [{"type": "scrape"}, {"type": "write", "selector": "#locked", "text": "x"}]
    body = {"url": site.url("/form"), "actions": actions}
    response = await client.post("/api/v2/scrape", json=body)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (422, "ACTION_FAILED")
    assert "actions[1]" in error["message"]


async def test_a_blocked_page_is_no_success(client: httpx2.AsyncClient, site: Site) -> None:
    body = {"url": site.url("/wall"), "mode": "static"}
    response = await client.post("/api/v2/scrape", json=body)
    answer = response.json()
    assert (response.status_code, answer["success"]) == (422, False)
    assert (answer["error"]["code"], answer["error"]["verdict"]) == ("BLOCKED", "blocked")
