"""tests.api.test_arguments"""

import time
from typing import Any

import httpx2
import pytest

from cinder.api.arguments import check_limits, parse_json_strings, read_arguments
from cinder.api.schemas.page import PageArguments
from cinder.api.schemas.scrape import SCRAPE_CHECKS, ScrapeArguments
from cinder.app.composition import App
from cinder.config.serving import LimitsSettings
from cinder.config.settings import Settings
from cinder.errors import InvalidRequest
from cinder.mcp.tools.scrape import SCRAPE
from tests.api.working import serve_jobs
from tests.resolver import TableResolver

SMALL = LimitsSettings(
    json_depth=6,
    json_values=1_000,
    list_items=20,
    object_keys=100,
    actions=2,
    selectors=2,
    selector_chars=10,
    patterns=2,
    pattern_chars=10,
    headers=2,
    header_bytes=10,
    schema_properties=3,
    claims=2,
)


def nested(depth: int) -> Any:  # Any: JSON
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


WORDY = "a" * 11
OBJECT = {"type": "object", "properties": {"a": {}, "b": {}}}
BEYOND: list[tuple[str, str, object]] = [
    ("json-depth", "(request)", {"schema": nested(6)}),
    ("list-items", "formats", {"formats": ["links"] * 21}),
    ("object-keys", "schema", {"schema": {"x": {str(n): 1 for n in range(101)}}}),
    ("json-values", "schema", {"schema": f"[{'[],' * 1_000}[]]"}),
    ("json-values", "args", {"args": {"actions": [f"[{'1,' * 60}1]"] * 20}}),
    ("actions", "actions", {"actions": [{"type": "scrape"}] * 3}),
    ("selectors", "includeTags", {"includeTags": ["a"] * 3}),
    ("selectors", "excludeTags", {"excludeTags": ["a"] * 3}),
    ("selector-chars", "excludeTags[1]", {"excludeTags": ["a", WORDY]}),
    ("selector-chars", "actions[0].selector", {"actions": [{"type": "click", "selector": WORDY}]}),
    ("patterns", "includePatterns", {"includePatterns": ["a"] * 3}),
    ("pattern-chars", "excludePatterns[0]", {"excludePatterns": [WORDY]}),
    ("headers", "headers", {"headers": {"A": "", "B": "", "C": ""}}),
    ("header-bytes", "headers.A", {"headers": {"A": WORDY}}),
    ("schema-properties", "schema", {"schema": {"properties": {"x": OBJECT, "y": OBJECT}}}),
    ("claims", "verify", {"verify": [{}] * 3}),
]
WITHIN: list[dict[str, Any]] = [
    {"schema": nested(5)},
    {"formats": ["links"] * 20, "urls": ["a.example"] * 1_000},
    {"actions": [{"type": "scrape"}] * 2, "includeTags": ["a" * 10] * 2},
    {"includePatterns": ["a" * 10] * 2, "headers": {"A": "a" * 10, "B": ""}},
    {"schema": {"properties": {"x": OBJECT}}, "verify": [{}] * 2},
    {"actions": "none", "headers": [1], "schema": None, "includeTags": [1, None]},
]


@pytest.mark.parametrize(("setting", "field", "given"), BEYOND)
def test_what_is_beyond_a_limit_is_named_with_the_setting(
    setting: str, field: str, given: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_limits(given, SMALL)
    (problem,) = refused.value.problems
    assert problem.field == field
    assert f"(setting limits.{setting})" in problem.message


def test_a_request_of_very_many_arguments_is_refused_by_their_number() -> None:
    with pytest.raises(InvalidRequest, match="At most 100 keys"):
        check_limits({str(number): nested(9) for number in range(101)}, SMALL)


@pytest.mark.parametrize("given", WITHIN)
def test_what_is_within_the_limits_passes(given: dict[str, Any]) -> None:
    check_limits(given, SMALL)


def test_every_limit_is_tried() -> None:
    tried = {setting.replace("-", "_") for setting, _, _ in BEYOND}
    assert tried == set(LimitsSettings.model_fields)


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/api/v2/scrape", {"url": "a.example", "includeTags": ["a", "b"]}),
        ("/v1/scrape", {"url": "a.example", "query": nested(9)}),
        ("/v1/search", {"query": "embers", "includeDomains": nested(9)}),
        ("/v1/search-and-scrape", {"query": "embers", "includeDomains": nested(9)}),
        ("/v1/extract", {"urls": ["a.example"], "schema": {"properties": nested(9)}}),
        ("/v1/crawl", {"url": "a.example", "excludePatterns": ["a", "b"]}),
    ],
)
async def test_every_route_that_takes_a_body_keeps_to_the_limits(
    settings: Settings, resolver: TableResolver, path: str, given: dict[str, Any]
) -> None:
    limits = LimitsSettings(selectors=1, patterns=1, json_depth=8)
    chosen = settings.model_copy(update={"limits": limits})
    async with serve_jobs(chosen, resolver, works=False) as client:
        answer = await client.post(path, json=given)
    assert answer.status_code == 400
    assert "(setting limits." in answer.json()["error"]["message"]


async def test_the_default_lets_through_what_a_model_may_ask_for(
    client: httpx2.AsyncClient,
) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": OBJECT}}}
    given = {"urls": ["https://nowhere.test/"], "schema": schema, "timeout": 5_000}
    answer = await client.post("/v1/extract", json=given)
    assert answer.json()["error"]["code"] == "EXTRACTION_FAILED"


async def test_a_tool_keeps_to_the_limits(app: App) -> None:
    selectors = [f".a{number}" for number in range(101)]
    with pytest.raises(InvalidRequest, match=r"limits\.selectors"):
        await SCRAPE.call(app, {"url": "a.example", "includeTags": selectors})


async def test_a_huge_list_is_refused_before_anything_looks_through_it(
    client: httpx2.AsyncClient,
) -> None:
    # Validated entry by entry, it held everybody up for nine seconds.
    body = {"url": "https://a.example/", "includeTags": ["a"] * 400_000}
    begun = time.process_time()
    response = await client.post("/api/v2/scrape", json=body)
    assert response.status_code == 400
    assert "limits.json-values" in response.text
    assert time.process_time() - begun < 2


def problems(given: object) -> dict[str, str]:
    with pytest.raises(InvalidRequest) as failure:
        read_arguments(ScrapeArguments, given, *SCRAPE_CHECKS)
    return {problem.field: problem.message for problem in failure.value.problems}


def test_an_unknown_key_of_a_nested_object_is_named_with_its_neighbour() -> None:
    found = problems({"url": "a.example", "actions": [{"type": "wait", "miliseconds": 5}]})
    assert found["actions[0].miliseconds"] == "Unknown key. Did you mean 'milliseconds'?"


def test_a_key_like_no_other_is_answered_with_all_there_are() -> None:
    with pytest.raises(InvalidRequest) as failure:
        read_arguments(PageArguments, {"url": "a.example", "zzzzzz": 1})
    message = failure.value.problems[0].message
    assert message == (
        "Unknown key. Known are: includeMetadata, maxChars, maxTokens, mode, proxyPool, query, "
        "returnFormat, section, startIndex, url"
    )


@pytest.mark.parametrize("given", [None, [], "url", 5])
def test_what_is_no_object_is_said(given: object) -> None:
    assert list(problems(given)) == ["(request)"]


def test_lists_and_objects_may_come_as_json_in_a_string() -> None:
    given = {"url": "a.example", "formats": '["links"]', "headers": '{"X": "1"}', "maxChars": 5}
    unpacked = parse_json_strings(ScrapeArguments, given)
    assert unpacked["formats"] == ["links"]
    assert unpacked["headers"] == {"X": "1"}


def test_a_text_that_looks_like_json_stays_a_text() -> None:
    given = {"url": "[1]", "extract": '{"a": 1}', "formats": "[broken"}
    assert parse_json_strings(ScrapeArguments, given) == given
