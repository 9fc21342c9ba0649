"""tests.mcp.test_coercion_lenient"""

import json
from typing import Any

import pytest

from cinder.api.arguments import Arguments
from cinder.api.schemas.crawl import CrawlArguments
from cinder.api.schemas.extract import ExtractArguments
from cinder.api.schemas.page import PageArguments
from cinder.api.schemas.search import SearchArguments
from cinder.mcp.coercion import ALIASES, coerce_arguments
from cinder.mcp.tool_calls import TOOLS
from cinder.mcp.tools.crawl import CrawlStatusArguments
from cinder.mcp.tools.scrape import ScrapeToolArguments
from cinder.mcp.tools.text import HtmlArguments, TextsArguments
from tests.mcp.conftest import Call
from tests.mcp.reading import error_of, text_of
from tests.site import Site

URL = "https://example.com"


@pytest.mark.parametrize(
    ("model", "given", "meant"),
    [
        (ScrapeToolArguments, {"link": URL}, {"url": URL}),
        (ScrapeToolArguments, {"url": URL, "max_chars": "500"}, {"url": URL, "maxChars": "500"}),
        (ScrapeToolArguments, {"URL": URL}, {"url": URL}),
        (ScrapeToolArguments, {"Url": URL}, {"url": URL}),
        (ScrapeToolArguments, {"urls": URL}, {"urls": [URL]}),
        (ScrapeToolArguments, {"url": URL, "urls": None}, {"url": URL, "urls": None}),
        (ScrapeToolArguments, {"link" * 50: URL}, {"link" * 50: URL}),
        (ScrapeToolArguments, {"formats": "html"}, {"formats": ["html"]}),
        (ScrapeToolArguments, {"formats": '["html"]'}, {"formats": ["html"]}),
        (
            ScrapeToolArguments,
            {"url": URL, "actions": ['{"type": "wait", "milliseconds": 1}']},
            {"url": URL, "actions": [{"type": "wait", "milliseconds": 1}]},
        ),
        (
            ScrapeToolArguments,
            {"url": URL, "actions": {"type": "scrape"}},
            {"url": URL, "actions": [{"type": "scrape"}]},
        ),
        (ScrapeToolArguments, {"arguments": {"link": URL}}, {"url": URL}),
        (ScrapeToolArguments, {"input": json.dumps({"url": URL})}, {"url": URL}),
        (ScrapeToolArguments, {"input": "[" * 100_000}, {"input": "[" * 100_000}),
        (PageArguments, {"uri": URL, "format": "html"}, {"url": URL, "returnFormat": "html"}),
        (SearchArguments, {"q": "embers", "limit": 3}, {"query": "embers", "numResults": 3}),
        (CrawlArguments, {"site": URL, "depth": 1}, {"url": URL, "maxDepth": 1}),
        (CrawlArguments, {"url": URL, "limit": 5}, {"url": URL, "maxPages": 5}),
        (CrawlStatusArguments, {"crawlId": "x"}, {"id": "x"}),
        (
            ExtractArguments,
            {"url": URL, "query": "author", "schema": '{"type": "object"}'},
            {"urls": [URL], "prompt": "author", "schema": {"type": "object"}},
        ),
        (HtmlArguments, {"html": "<p>", "baseUrl": URL}, {"html": "<p>", "base_url": URL}),
        (TextsArguments, {"textA": "x", "text2": "y"}, {"text_a": "x", "text_b": "y"}),
    ],
)
def test_what_is_plainly_meant_is_understood(
    model: type[Arguments], given: dict[str, Any], meant: dict[str, Any]
) -> None:
    assert coerce_arguments(model, given) == meant


def test_an_alias_never_stands_in_for_what_was_given_as_well() -> None:
    given = {"link": "https://a.test", "url": URL, "uri": "https://b.test"}
    assert coerce_arguments(ScrapeToolArguments, given) == given


def test_no_tool_has_an_argument_that_an_alias_takes_away() -> None:
    for tool in TOOLS:
        names = {info.alias or name for name, info in tool.arguments.model_fields.items()}
        for name in names & set(ALIASES):
            assert set(coerce_arguments(tool.arguments, {name: "x"})) == {name}


async def test_a_call_with_other_names_and_strings_for_all_is_answered(
    call: Call, site: Site
) -> None:
    result = await call(
        "scrape",
        link=site.url("/article"),
        max_chars="300",
        formats="markdown",
        only_main_content="true",
        headers='{"X-Test": "1"}',
    )
    assert not result.is_error, text_of(result)
    assert len(result.structured_content["content"]) <= 300


async def test_unknown_argument_is_refused_with_the_nearest(call: Call) -> None:
    text = error_of(await call("scrape", url=URL, onlyMainContents=True))
    assert "onlyMainContents: Unknown key. Did you mean 'onlyMainContent'?" in text
