"""Prompts, and completion of their arguments and of resource URIs."""

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from cinder.mcp.prompts import MAX_ARGUMENT_CHARS, PROMPTS
from cinder.mcp.resources import CRAWL_TEMPLATE, SAVED_TEMPLATE
from cinder.mcp.server import TOOLS
from tests.mcp.conftest import Connect
from tests.site import Site

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
SAVED = types.ResourceTemplateReference(uri=SAVED_TEMPLATE.uri_template)
CRAWL = types.ResourceTemplateReference(uri=CRAWL_TEMPLATE.uri_template)


async def complete(
    client: Client,
    ref: types.PromptReference | types.ResourceTemplateReference,
    name: str,
    value: str,
    **given: str,
) -> list[str]:
    result = await client.complete(ref, {"name": name, "value": value}, given or None)
    return result.completion.values


@ERAS
async def test_hosts_then_paths_then_versions_are_completed(connect: Connect, site: Site) -> None:
    async with connect() as client:
        for path in ("/article", "/numbered?n=1"):
            scraped = await client.call_tool("scrape", {"url": site.url(path)})
        assert await complete(client, SAVED, "page", "127") == [site.address]
        assert await complete(client, SAVED, "page", f"{site.address}/") == [
            f"{site.address}/numbered?n=1",
            f"{site.address}/article",
        ]
        assert await complete(client, SAVED, "page", f"{site.address}/art") == [
            f"{site.address}/article"
        ]
        assert await complete(client, SAVED, "kind", "c") == ["cleaned"]
        page = f"{site.address}/numbered?n=1"
        moments = await complete(client, SAVED, "timestamp", "", page=page, kind="cleaned")
    uri = (scraped.structured_content or {})["savedUris"]["cleaned"]
    assert moments == ["latest", uri.rpartition("_")[2]]


async def test_crawls_are_completed_by_their_ids(connect: Connect, site: Site) -> None:
    async with connect() as client:
        crawl = await client.call_tool("cinder_crawl", {"url": site.url("/article")})
        crawl_id = (crawl.structured_content or {})["crawlId"]
        assert await complete(client, CRAWL, "id", "crawl-") == [crawl_id]
        assert await complete(client, CRAWL, "id", "other") == []
        assert await complete(client, CRAWL, "offset", "1") == []


async def test_prompts_are_completed_with_choices_and_saved_pages(
    connect: Connect, site: Site
) -> None:
    url = site.url("/article")
    async with connect() as client:
        await client.call_tool("scrape", {"url": url})
        research = types.PromptReference(name="research")
        compare = types.PromptReference(name="compare_pages")
        assert await complete(client, research, "depth", "t") == ["thorough"]
        assert await complete(client, research, "topic", "t") == []
        assert await complete(client, compare, "urls", "127.0") == [url]
        assert await complete(client, compare, "urls", "https://a.test http") == [
            f"https://a.test {url}"
        ]


@pytest.mark.parametrize(
    "ref",
    [
        types.PromptReference(name="no such prompt"),
        types.ResourceTemplateReference(uri="test://{id}"),
    ],
)
async def test_blanks_of_what_there_is_not_are_refused(
    connect: Connect, ref: types.PromptReference | types.ResourceTemplateReference
) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as caught:
            await complete(client, ref, "id", "")
    assert caught.value.code == types.INVALID_PARAMS


GIVEN = {
    "research": {"topic": "keeping embers"},
    "compare_pages": {"urls": "https://a.test https://b.test"},
    "watch_page": {"url": "https://a.test"},
    "build_dataset": {"source": "https://a.test", "fields": "name, price"},
}


async def word(connect: Connect, name: str, given: dict[str, str]) -> str:
    async with connect() as client:
        result = await client.get_prompt(name, given)
    (message,) = result.messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


@ERAS
async def test_prompts_are_listed_with_what_they_need(connect: Connect) -> None:
    async with connect() as client:
        listed = (await client.list_prompts()).prompts
    needed = {p.name: {a.name for a in p.arguments or () if a.required} for p in listed}
    assert needed == {name: set(given) for name, given in GIVEN.items()}
    assert all(prompt.title and prompt.description for prompt in listed)


@ERAS
@pytest.mark.parametrize("name", GIVEN)
async def test_every_prompt_holds_what_was_given_and_names_tools(
    connect: Connect, name: str
) -> None:
    text = await word(connect, name, GIVEN[name])
    assert all(value in text for value in GIVEN[name].values())
    assert any(tool.name in text for tool in TOOLS)
    assert "never an instruction" in text


async def test_a_choice_words_the_prompt_differently(connect: Connect) -> None:
    quick = await word(connect, "research", {"topic": "embers"})
    thorough = await word(connect, "research", {"topic": "embers", "depth": "thorough"})
    assert quick != thorough


@pytest.mark.parametrize(
    ("name", "given", "hint"),
    [
        ("reserch", {}, "Did you mean research?"),
        ("xyz", {}, "Known are: research, compare_pages, watch_page, build_dataset."),
        ("research", {}, "Give the argument topic"),
        ("research", {"topic": " "}, "Give the argument topic"),
        ("research", {"topic": "x", "dept": "quick"}, "Did you mean depth?"),
        ("research", {"topic": "x", "depth": "through"}, "Did you mean thorough?"),
        ("research", {"topic": "x" * (MAX_ARGUMENT_CHARS + 1)}, "at most"),
    ],
)
async def test_what_cannot_be_worded_is_refused_with_what_would_do(
    connect: Connect, name: str, given: dict[str, str], hint: str
) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, given)
    assert caught.value.code == types.INVALID_PARAMS
    assert hint in caught.value.error.message


def test_prompts_have_names_of_their_own() -> None:
    assert len({prompt.name for prompt in PROMPTS}) == len(PROMPTS)
