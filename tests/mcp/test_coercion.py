"""Coercion of arguments: aliases, JSON in strings, single values, null arguments."""

import json
from typing import Any

import pytest

from cinder.api.arguments import Arguments
from cinder.api.schemas.actions import ActionArguments
from cinder.api.schemas.crawl import CrawlArguments
from cinder.api.schemas.extract import ExtractArguments
from cinder.api.schemas.page import PageArguments
from cinder.api.schemas.search import SearchArguments
from cinder.mcp.coercion import ALIASES, coerce_arguments, drop_null_arguments
from cinder.mcp.server import TOOLS
from cinder.mcp.tools.crawl import CrawlStatusArguments
from cinder.mcp.tools.scrape import SCRAPE, SCRAPE_PARAMETERS, ScrapeToolArguments, read_scrape
from cinder.mcp.tools.text import HtmlArguments, TextsArguments
from tests.mcp.conftest import Call
from tests.mcp.reading import error_of, text_of
from tests.mcp.strict import give_everything
from tests.site import Site

URL = "https://example.com"
EMPTY_ACTION = {
    "milliseconds": 0,
    **dict.fromkeys(("selector", "text", "key", "name", "script"), ""),
    "direction": "up",
    "amount": 0,
}


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        (ScrapeToolArguments, {"url": URL, "urls": [], "jobId": ""}, {"url": URL}),
        (ScrapeToolArguments, {"url": URL, "maxChars": 0, "timeout": 0}, {"url": URL}),
        (ScrapeToolArguments, {"url": URL, "maxAge": 0}, {"url": URL, "maxAge": 0}),
        (ScrapeToolArguments, {"url": URL, "headers": {"Cookie": ""}}, {"url": URL}),
        (
            ScrapeToolArguments,
            {"headers": {"Cookie": "", "DNT": "1"}, "onlyMainContent": False},
            {"headers": {"DNT": "1"}, "onlyMainContent": False},
        ),
        (
            ScrapeToolArguments,
            {"parsers": [{"type": "pdf", "maxPages": 0}]},
            {"parsers": [{"type": "pdf"}]},
        ),
        (ScrapeToolArguments, {"mode": 0, "Mode": ""}, {"mode": 0, "Mode": ""}),
        (SearchArguments, {"query": "", "maxAge": 0, "numResults": 0}, {"query": ""}),
        (CrawlArguments, {"url": URL, "maxDepth": 0}, {"url": URL, "maxDepth": 0}),
        (CrawlStatusArguments, {"id": "x", "limit": 0, "offset": 0}, {"id": "x", "offset": 0}),
        (ExtractArguments, {"urls": [], "schema": {}, "verify": []}, {"urls": []}),
    ],
)
def test_what_is_empty_and_may_be_absent_is_left_out(
    model: type[Arguments], given: dict[str, Any], said: dict[str, Any]
) -> None:
    assert drop_null_arguments(model, given, is_all_given=False) == said


def test_where_all_is_given_a_default_says_nothing() -> None:
    given = {
        "url": URL,
        "mode": "smart",
        "format": "markdown",
        "formats": ["html"],
        "proxy": "basic",
    }
    said = {"url": URL, "formats": ["html"], "proxy": "basic"}
    assert drop_null_arguments(ScrapeToolArguments, given, is_all_given=True) == said
    assert drop_null_arguments(ScrapeToolArguments, given, is_all_given=False) == given


def test_where_all_is_given_a_crawl_of_nothing_is_one_by_default() -> None:
    given = {"url": URL, "maxDepth": 0, "maxPages": 0}
    assert drop_null_arguments(CrawlArguments, given, is_all_given=True) == {"url": URL}


@pytest.mark.parametrize(
    "action",
    [
        {"type": "click", "selector": "#more"},
        {"type": "write", "selector": "input", "text": ""},
        {"type": "wait", "milliseconds": 0},
        {"type": "scroll", "direction": "down"},
        {"type": "screenshot"},
        {"type": "scrape", "selector": "main"},
    ],
)
def test_an_action_that_names_every_field_is_the_one_that_names_its_own(
    action: dict[str, Any],
) -> None:
    given = {"actions": [EMPTY_ACTION | action]}
    said = drop_null_arguments(ScrapeToolArguments, given, is_all_given=False)
    assert said == {"actions": [action]}
    assert set(EMPTY_ACTION) | {"type"} == set(ActionArguments.model_fields)


async def test_what_an_action_does_not_take_is_refused_when_it_says_something(call: Call) -> None:
    actions = [{"type": "click", "selector": "a", "direction": "up"}]
    text = error_of(await call("scrape", url=URL, actions=actions))
    assert "actions[0].direction: Not a field of the action 'click'" in text


def test_what_a_command_has_no_use_for_may_be_zero_or_false() -> None:
    given = {"command": "status", "jobId": "x", "maxAge": 0, "blockAds": False, "offset": 0}
    said = {"command": "status", "jobId": "x", "offset": 0}
    assert read_scrape(ScrapeToolArguments, given, SCRAPE_PARAMETERS) == said
    fresh = {"url": URL, "maxAge": 0, "blockAds": False}
    assert read_scrape(ScrapeToolArguments, fresh, SCRAPE_PARAMETERS) == fresh


async def test_every_argument_of_a_status_may_be_given(call: Call, site: Site) -> None:
    batch = await call("scrape", urls=[site.url("/article")])
    job_id = (batch.structured_content or {})["jobId"]
    tool = next(tool for tool in TOOLS if tool.name == "scrape").describe()
    given = give_everything(tool.input_schema, {"command": "status", "jobId": job_id})
    result = await call("scrape", **given)
    assert not result.is_error, text_of(result)


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


def test_defaults_that_a_client_fills_in_count_as_not_sent() -> None:
    """A client may add all defaults of a schema to the arguments of its model."""
    properties = SCRAPE.describe().input_schema["properties"]
    filled = {name: node["default"] for name, node in properties.items() if "default" in node}
    given = {**filled, "url": URL, "formats": ["html"]}
    assert SCRAPE.read(ScrapeToolArguments, given, SCRAPE.parameters) == {
        "url": URL,
        "formats": ["html"],
    }
