"""tests.mcp.test_coercion"""

from typing import Any

import pytest

from cinder.api.arguments import Arguments
from cinder.api.schemas.actions import ActionArguments
from cinder.api.schemas.crawl import CrawlArguments
from cinder.api.schemas.extract import ExtractArguments
from cinder.api.schemas.search import SearchArguments
from cinder.mcp.coercion import drop_null_arguments
from cinder.mcp.tool_calls import TOOLS
from cinder.mcp.tools.crawl import CrawlStatusArguments
from cinder.mcp.tools.scrape import SCRAPE_PARAMETERS, ScrapeToolArguments, read_scrape
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
