"""tests.api.schemas.test_page_parts"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client import Client

from cinder.api.schemas.page_parts import describe_outline, fit_outline
from cinder.app.composition import open_app
from cinder.config.outbound import LlmSettings
from cinder.config.settings import Settings
from cinder.mcp.server import build_server
from cinder.server.asgi import create_app
from cinder.services.excerpt import TextWindow
from cinder.services.reading import read_markdown
from tests.api.working import asking
from tests.llm.knowing_servers import KnowingOpenAiServer
from tests.mcp.reading import text_of
from tests.resolver import TableResolver
from tests.search_servers.serving import Reply, serving
from tests.site import Site

SUMMARY = "Dry wood warms a house. Oak glows longest."


@asynccontextmanager
async def client_of(
    server: KnowingOpenAiServer, settings: Settings, resolver: TableResolver
) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve the whole of cinder with a model."""
    async with serving(server):
        llm = LlmSettings(base_url=f"{server.url}/v1", model="ember", max_retries=0)
        chosen = settings.model_copy(update={"llm": llm})
        api = create_app(chosen, open_app(chosen, resolver=resolver))
        async with asking(api) as client:
            yield client


async def test_over_mcp_the_text_says_that_a_model_wrote_it(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    async with serving(KnowingOpenAiServer(lambda _: SUMMARY)) as server:
        llm = LlmSettings(base_url=f"{server.url}/v1", model="ember")
        chosen = settings.model_copy(update={"llm": llm})
        async with (
            open_app(chosen, resolver=resolver) as app,
            Client(build_server(app)) as client,
        ):
            await client.list_tools()
            arguments = {"url": site.url("/guide"), "formats": ["summary"]}
            result = await client.call_tool("scrape", arguments)
    assert f"summary (model):\n{SUMMARY}" in text_of(result)
    assert result.structured_content is not None
    assert result.structured_content["summary"] == SUMMARY


async def summary_of(client: httpx2.AsyncClient, url: str) -> dict[str, Any]:  # Any: JSON
    body = {"url": url, "formats": ["summary"]}
    answer = await client.post("/api/v2/scrape", json=body)
    assert answer.status_code == 200
    data: dict[str, Any] = answer.json()["data"]
    return data


async def test_a_models_summary_is_labelled_with_its_name(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    server = KnowingOpenAiServer(lambda _: SUMMARY)
    async with client_of(server, settings, resolver) as client:
        data = await summary_of(client, site.url("/guide"))
    assert data["summary"] == SUMMARY
    assert data["metadata"]["summaryMethod"] == "model"
    assert data["metadata"]["summaryModel"] == "ember"
    assert "summarySentences" not in data["metadata"]
    assert "warning" not in data


async def test_where_the_model_fails_the_sentences_are_shown_with_a_warning(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    server = KnowingOpenAiServer(lambda _: Reply(b"", status=500))
    async with client_of(server, settings, resolver) as client:
        data = await summary_of(client, site.url("/guide"))
    assert data["metadata"]["summaryMethod"] == "extractive"
    assert len(data["metadata"]["summarySentences"]) >= 3
    assert data["summary"].startswith("Firewood keeps a house warm")
    assert data["warning"].startswith("The summary is made of the page's own sentences")


def test_higher_ranks_are_shown_before_lower_ones() -> None:
    markdown = "\n\n".join(f"# A{n}\n\n## B{n}" for n in range(3))
    outline = read_markdown(markdown, TextWindow(0, 100)).outline
    shown = fit_outline(outline, 4, lambda _: 1)
    assert [heading.id for heading in shown] == ["a0", "b0", "a1", "a2"]


def test_an_outline_of_thousands_is_bounded_and_says_so() -> None:
    markdown = "\n\n".join(f"# Heading {n}" for n in range(3_000))
    window = TextWindow(0, 1_000_000)
    told = describe_outline(read_markdown(markdown, window), window)
    assert isinstance(told["outline"], list)
    assert len(told["outline"]) == 300
    assert told["outlineLeftOut"] == 2_700
