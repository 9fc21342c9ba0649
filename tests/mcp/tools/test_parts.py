"""Reading a page by its outline over MCP: cheap to look at, exact to go on from."""

import re
from typing import Any

from cinder.config.settings import Settings
from tests.mcp.conftest import Call
from tests.mcp.reading import error_of, text_of
from tests.site import Site


async def test_a_page_that_was_cut_shows_its_outline(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/guide"), maxChars=2_000)
    lines = result.structured_content["metadata"]["outline"]
    sections = [re.sub(r"\(\d+\)", "(N)", line) for line in lines]
    assert sections[:3] == ["a-guide-to-firewood (N)", "  oak (N)", "    drying (N)"]
    assert "    drying-8 (N) Drying" in sections
    assert "\n".join(["Outline, as section (tokens):", *lines]) in text_of(result)
    assert len("\n".join(lines)) < 600


async def test_a_page_that_is_whole_costs_no_outline(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/guide"))
    assert "outline" not in result.structured_content["metadata"]
    assert "Outline" not in text_of(result)


async def test_a_long_page_with_its_outline_stays_within_the_size(
    call: Call, site: Site, settings: Settings
) -> None:
    for tool in ("scrape", "cinder_scrape"):
        result = await call(tool, url=site.url("/numbered-parts"))
        assert "part-0 (" in text_of(result)
        assert len(text_of(result)) <= settings.server.mcp_result_max_chars


async def test_a_section_is_read_alone_and_from_the_cache(call: Call, site: Site) -> None:
    await call("scrape", url=site.url("/guide"))
    result = await call("scrape", url=site.url("/guide"), section="banking-a-fire")
    data = result.structured_content
    assert data["content"].startswith("## Banking a fire\n")
    assert data["content"].rstrip().endswith("```")
    assert data["cached"] is True
    assert data["metadata"]["section"]["id"] == "banking-a-fire"
    assert site.hits("/guide") == 1


async def test_a_section_that_was_cut_shows_what_is_in_it(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/guide"), section="oak", maxChars=900)
    metadata = result.structured_content["metadata"]
    (line,) = metadata["outline"]
    assert line.strip().startswith("drying (")
    assert metadata["nextStartIndex"] == len(result.structured_content["content"])


async def test_passages_say_where_they_stand(call: Call, site: Site) -> None:
    for tool in ("scrape", "cinder_scrape"):
        result = await call(tool, url=site.url("/guide"), query="midnight damper")
        content = result.structured_content["content"]
        assert content.startswith("[banking-a-fire, ")
        assert "close the damper" in content
        assert content in text_of(result)
        assert "One passage matches the query" in text_of(result)


async def test_a_query_in_vain_shows_the_outline(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/guide"), query="submarines")
    assert "Nothing in the text matches 'submarines'" in text_of(result)
    assert "banking-a-fire (" in text_of(result)


async def test_an_unknown_section_is_named_with_the_nearest(call: Call, site: Site) -> None:
    for tool in ("scrape", "cinder_scrape"):
        error = error_of(await call(tool, url=site.url("/guide"), section="bankin-fire"))
        assert error.startswith("VALIDATION_ERROR: ")
        assert "Did you mean 'banking-a-fire'" in error
        assert len(error) < 1_000


async def test_parts_are_of_markdown_alone(call: Call) -> None:
    wanted: list[tuple[str, dict[str, Any]]] = [
        ("scrape", {"format": "links"}),
        ("cinder_scrape", {"returnFormat": "json"}),
    ]
    for tool, arguments in wanted:
        result = await call(tool, url="https://example.com", section="a", **arguments)
        assert "- section: Only markdown can be read in parts" in error_of(result)


async def test_a_summary_stands_in_the_text_and_in_the_data(call: Call, site: Site) -> None:
    result = await call("scrape", url=site.url("/guide"), formats=["summary"])
    data = result.structured_content
    assert data["summary"].startswith("Firewood keeps a house warm")
    assert f"summary (extractive):\n{data['summary']}" in text_of(result)
    assert len(text_of(result)) < 2_500
