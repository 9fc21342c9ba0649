"""Reading a page by its outline: one section, the passages on a query, or a summary."""

import re
from typing import Any

import httpx2
import pytest

from tests.api.v2.test_routes import fail, scrape
from tests.site import Site


async def test_every_page_has_an_outline_whose_places_are_true(
    client: httpx2.AsyncClient, site: Site
) -> None:
    data = await scrape(client, url=site.url("/guide"), formats=["markdown"])
    outline = data["metadata"]["outline"]
    assert [heading["id"] for heading in outline][:4] == [
        *("a-guide-to-firewood", "oak", "drying", "birch"),
    ]
    assert "drying-8" in [heading["id"] for heading in outline]
    for heading in outline:
        part = data["content"][heading["start"] : heading["start"] + heading["chars"]]
        assert part.startswith(f"{'#' * heading['level']} {heading['title']}\n")
        assert heading["tokens"] == -(-len(part) // 4)


async def test_a_section_is_read_from_the_same_saved_page(
    client: httpx2.AsyncClient, site: Site
) -> None:
    whole = await scrape(client, url=site.url("/guide"))
    part = await scrape(client, url=site.url("/guide"), section="Banking a fire")
    section = part["metadata"]["section"]
    assert section["id"] == "banking-a-fire"
    assert part["content"] == whole["content"][section["start"] :][: section["chars"]]
    assert (part["cached"], part["savedUris"]) == (True, whole["savedUris"])
    assert site.hits("/guide") == 1
    assert "html" not in part
    assert part["metadata"]["continuation"] == (
        "html is left out: section and query read the markdown."
    )


async def test_a_long_section_is_read_in_pages(client: httpx2.AsyncClient, site: Site) -> None:
    wanted: dict[str, Any] = {
        "url": site.url("/guide"),
        "section": "oak",
        "formats": ["markdown"],
        "maxChars": 400,
    }
    data = await scrape(client, **wanted)
    parts = [data["content"]]
    assert "in section 'oak' are shown" in data["metadata"]["continuation"]
    while data["metadata"]["wasTruncated"]:
        start = data["metadata"]["nextStartIndex"]
        data = await scrape(client, **wanted, startIndex=start)
        parts.append(data["content"])
    assert all(0 < len(part) <= 400 for part in parts)
    assert len("".join(parts)) == data["metadata"]["section"]["chars"]
    assert "".join(parts).startswith("## Oak\n")


async def test_an_unknown_section_names_those_there_are(
    client: httpx2.AsyncClient, site: Site
) -> None:
    status, error = await fail(client, url=site.url("/guide"), section="bankin-fire")
    assert (status, error["code"]) == (400, "VALIDATION_ERROR")
    (problem,) = error["validationErrors"]
    assert problem["field"] == "section"
    assert "Did you mean 'banking-a-fire'" in problem["message"]
    assert "a-guide-to-firewood, oak, drying" in problem["message"]


async def test_a_query_brings_passages_with_their_places(
    client: httpx2.AsyncClient, site: Site
) -> None:
    url = site.url("/guide")
    whole = (await scrape(client, url=url))["content"]
    data = await scrape(client, url=url, query="when to bank the coals")
    best = data["metadata"]["passages"][0]
    assert best["section"] == "banking-a-fire"
    assert "Bank the coals with ash at midnight" in whole[best["start"] : best["end"]]
    assert whole[best["start"] : best["end"]] in data["content"]
    assert len(data["content"]) < len(whole) / 4


async def test_a_query_that_matches_nothing_says_so_beside_the_outline(
    client: httpx2.AsyncClient, site: Site
) -> None:
    data = await scrape(client, url=site.url("/guide"), query="submarines")
    assert data["content"] == ""
    assert data["metadata"]["passages"] == []
    assert "Nothing in the text matches 'submarines'" in data["metadata"]["continuation"]
    assert data["metadata"]["outline"]


async def test_cuts_fall_into_no_code_row_or_link(client: httpx2.AsyncClient, site: Site) -> None:
    start: int | None = 0
    parts = []
    while start is not None:
        data = await scrape(
            client, url=site.url("/guide"), formats=["markdown"], maxChars=900, startIndex=start
        )
        parts.append(data["content"])
        start = data["metadata"].get("nextStartIndex")
    assert len(parts) > 10
    for part in parts:
        assert part.count("```") % 2 == 0
        assert part.count("[") == len(re.findall(r"\[\w+\]\(\S+\)", part))
        rows = [line for line in part.split("\n") if line.startswith("|")]
        assert all(row.endswith("|") for row in rows)


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"section": "a", "formats": ["links"]}, "section"),
        ({"query": "a", "formats": ["html"]}, "query"),
        ({"section": "a", "cleanScrape": False}, "section"),
        ({"section": "a", "resultHandling": "saveOnly"}, "section"),
        ({"maxChars": 5, "maxTokens": 5}, "maxTokens"),
        ({"query": ""}, "query"),
        ({"query": "  "}, "query"),
        ({"section": "  "}, "section"),
        ({"formats": ["summary"], "cleanScrape": False}, "formats"),
    ],
)
async def test_what_does_not_go_together_is_named(
    client: httpx2.AsyncClient, wanted: dict[str, Any], field: str
) -> None:
    status, error = await fail(client, url="https://example.com", **wanted)
    assert (status, [problem["field"] for problem in error["validationErrors"]]) == (400, [field])


async def test_a_file_has_no_sections(client: httpx2.AsyncClient, site: Site) -> None:
    status, error = await fail(client, url=site.url("/image"), section="a")
    assert status == 400
    assert "it is a file" in error["message"]


async def test_a_summary_is_sentences_of_the_page(client: httpx2.AsyncClient, site: Site) -> None:
    url = site.url("/guide")
    data = await scrape(client, url=url, formats=["summary"])
    metadata = data["metadata"]
    assert "content" not in data
    assert metadata["summaryMethod"] == "extractive"
    assert 3 <= len(metadata["summarySentences"]) <= 7
    markdown = (await scrape(client, url=url, formats=["markdown"]))["content"]
    said = [markdown[place["start"] : place["end"]] for place in metadata["summarySentences"]]
    assert data["summary"] == " ".join(said)
    assert data["summary"].startswith("Firewood keeps a house warm")
    again = await scrape(client, url=url, formats=["summary"])
    assert (again["cached"], again["summary"]) == (True, data["summary"])


async def test_a_page_without_sentences_says_that_it_has_no_summary(
    client: httpx2.AsyncClient, site: Site
) -> None:
    data = await scrape(client, url=site.url("/data"), formats=["summary"])
    assert "summary" not in data
    assert data["metadata"]["continuation"] == "The page has no sentences to make a summary of."
