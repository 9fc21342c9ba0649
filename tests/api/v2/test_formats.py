"""Every format of POST /api/v2/scrape, on real pages."""

import base64
import json
from typing import Any

import httpx2

from cinder.mcp.scrape_result import read_png
from tests.site import Site
from tests.site.pages import ARTICLE


async def scrape(client: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    response = await client.post("/api/v2/scrape", json=body)
    assert response.status_code == 200, response.text
    data: dict[str, Any] = response.json()["data"]
    return data


async def test_every_format_answers_under_its_own_name(
    client: httpx2.AsyncClient, site: Site
) -> None:
    formats = ["markdown", "html", "rawHtml", "links", "images", "screenshot"]
    formats += ["branding", "changeTracking"]
    data = await scrape(client, url=site.url("/article"), formats=formats)
    assert data["content"].startswith("# Ember care")
    assert "<h2>In the morning</h2>" in data["html"]
    assert "<footer>Copyright the stokers</footer>" in data["rawHtml"]
    assert data["links"] == [site.url(path) for path in ("/", "/about", "/coals?x=1")]
    assert data["images"] == [site.url("/ember.png")]
    assert read_png(base64.b64decode(data["screenshot"])) is not None
    assert data["branding"]["colors"]["background"] == "#ffffff"
    assert data["changeTracking"] == {"changeStatus": "new"}


async def test_images_are_all_that_a_page_shows_or_names(
    client: httpx2.AsyncClient, site: Site
) -> None:
    data = await scrape(client, url=site.url("/brand"), formats=["images", "links"])
    names = ("hearth.svg", "stove-1600.jpg", "stove.jpg", "texture.png", "preview.jpg")
    assert data["images"] == [site.url(f"/{name}") for name in names]
    assert data["links"] == [site.url(path) for path in ("/", "/stoves", "/shop", "/visit")]


async def test_branding_tells_where_each_value_came_from(
    client: httpx2.AsyncClient, site: Site
) -> None:
    data = await scrape(client, url=site.url("/brand"), formats=["branding"])
    branding = data["branding"]
    assert branding["logo"] == site.url("/hearth.svg")
    assert branding["colors"]["primary"] == "#d9480f"
    assert branding["fonts"][0]["family"] == "Source Serif 4"
    assert branding["spacing"] == {"baseUnit": 8, "borderRadius": "6px"}
    assert branding["sources"]["colors.primary"] == "css:--hearth-primary"
    assert "content" not in data


async def test_branding_beyond_max_chars_is_cut_and_says_so(
    client: httpx2.AsyncClient, site: Site
) -> None:
    body = {"url": site.url("/brand"), "formats": ["branding"], "maxChars": 500}
    data = await scrape(client, **body)
    assert "sources" not in data["branding"]
    assert data["metadata"]["wasTruncated"] is True
    assert "branding" in data["metadata"]["continuation"]


async def test_a_change_is_told_as_text_and_as_blocks(
    client: httpx2.AsyncClient, site: Site
) -> None:
    body = {
        "url": site.url("/diary?days=first,changed"),
        "formats": ["markdown", "changeTracking"],
    }
    first = await scrape(client, **body)
    change = (await scrape(client, **body))["changeTracking"]
    diff = change.pop("diff")
    assert change == {
        "changeStatus": "changed",
        "previousScrapeAt": first["timestamp"],
        "previousUri": first["savedUris"]["cleaned"],
    }
    assert "-| Oak | 9 |\n+| Oak | 10 |" in diff["text"]
    section = "In the morning"
    assert diff["json"] == {
        "changes": [
            {
                "type": "changed",
                "section": section,
                "before": "| Oak | 9 |",
                "after": "| Oak | 10 |",
            },
            {"type": "added", "section": section, "after": "Birch burns faster."},
        ]
    }


async def test_a_removed_page_is_an_answer_with_its_verdict(
    client: httpx2.AsyncClient, site: Site
) -> None:
    body = {"url": site.url("/diary?days=first,404"), "formats": ["changeTracking"]}
    first = await scrape(client, **body)
    assert first["changeTracking"] == {"changeStatus": "new"}
    gone = await scrape(client, **body, resultHandling="saveOnly")
    assert gone["changeTracking"]["changeStatus"] == "removed"
    assert gone["changeTracking"]["previousUri"] == first["savedUris"]["cleaned"]
    assert (gone["verdict"], gone["evidence"]) == ("http_error", "404 Not Found")
    assert "savedUris" not in gone
    assert gone["message"].startswith("The page is gone")


async def test_save_only_tells_what_changed_as_well(client: httpx2.AsyncClient, site: Site) -> None:
    body = {"url": site.url("/diary?days=first,changed"), "formats": ["changeTracking"]}
    await scrape(client, **body)
    data = await scrape(client, **body, resultHandling="saveOnly")
    assert data["changeTracking"]["changeStatus"] == "changed"
    assert data["message"] == "Content saved to cache"


async def test_a_difference_beyond_max_chars_says_where_both_versions_are(
    client: httpx2.AsyncClient, site: Site
) -> None:
    body = {
        "url": site.url("/diary?days=first,changed"),
        "formats": ["changeTracking"],
        "maxChars": 40,
    }
    await scrape(client, **body)
    change = (await scrape(client, **body))["changeTracking"]
    assert len(change["diff"]["text"]) == 20
    assert "savedUris" in change["message"]


async def test_a_difference_that_was_not_saved_can_be_asked_for_again(
    client: httpx2.AsyncClient, site: Site
) -> None:
    body = {"url": site.url("/diary?days=first,changed"), "formats": ["changeTracking"]}
    await scrape(client, **body)
    unsaved = body | {"resultHandling": "returnOnly"}
    cut = (await scrape(client, **unsaved, maxChars=40))["changeTracking"]
    assert "a larger maxChars" in cut["message"]
    whole = (await scrape(client, **unsaved))["changeTracking"]
    assert "message" not in whole
    assert whole["diff"]["text"].startswith(cut["diff"]["text"])


async def test_an_unchanged_page_has_no_difference(client: httpx2.AsyncClient, site: Site) -> None:
    body = {"url": site.url("/article"), "formats": ["rawHtml", "changeTracking"]}
    first = await scrape(client, **body)
    assert first["content"] == ARTICLE
    second = await scrape(client, **body)
    assert second["changeTracking"]["changeStatus"] == "same"
    assert "diff" not in second["changeTracking"]


async def test_links_come_with_words_and_section_and_are_saved_with_the_page(
    client: httpx2.AsyncClient, site: Site
) -> None:
    url = site.url("/article")
    first = await scrape(client, url=url, formats=["linksDetail"])
    assert {link["url"]: link.get("section") for link in first["linksDetail"]} == {
        site.url("/"): "nav",
        site.url("/about"): "nav",
        site.url("/coals?x=1"): "Ember care",
    }
    assert all(link["text"] for link in first["linksDetail"])
    again = await scrape(client, url=url, formats=["linksDetail"])
    assert again["cached"] is True
    assert again["linksDetail"] == first["linksDetail"]
    page = await client.post("/v1/scrape", json={"url": url, "returnFormat": "linksDetail"})
    assert json.loads(page.json()["content"]) == first["linksDetail"]
