"""tests.api.test_openapi"""

from typing import Any

import httpx2
import pytest

# Any: an OpenAPI document is free-form JSON.
Document = dict[str, Any]


@pytest.fixture
async def document(client: httpx2.AsyncClient) -> Document:
    found: Document = (await client.get("/openapi.json")).json()
    return found


def test_bounds_are_named_as_json_schema_names_them(document: Document) -> None:
    lists = document["paths"]["/v1/crawls"]["get"]["parameters"]
    assert {name: lists[0]["schema"][name] for name in ("minimum", "maximum")} == {
        "minimum": 1,
        "maximum": 100,
    }
    days = document["components"]["schemas"]["SearchArguments"]["properties"]["maxAge"]
    assert days["anyOf"][0]["exclusiveMinimum"] == 0


def test_what_may_be_left_out_may_be_null(document: Document) -> None:
    properties = document["components"]["schemas"]["CrawlArguments"]["properties"]
    assert {"type": "null"} in properties["sitemap"]["anyOf"]
    assert properties["url"]["type"] == "string"


def test_a_start_may_name_a_webhook(document: Document) -> None:
    for model in ("CrawlArguments", "ScrapeArguments"):
        webhook = document["components"]["schemas"][model]["properties"]["webhook"]
        assert webhook["anyOf"][0] == {"$ref": "#/components/schemas/WebhookArguments"}


def test_every_status_of_every_operation_says_what_its_answer_is(document: Document) -> None:
    silent = [
        (method, path, status)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        for status, response in operation["responses"].items()
        if not response.get("content")
    ]
    assert silent == []


def test_only_the_sign_of_life_needs_no_token(document: Document) -> None:
    open_paths = [
        path
        for path, methods in document["paths"].items()
        for operation in methods.values()
        if operation.get("security") == []
    ]
    assert open_paths == ["/healthz"]


async def test_a_wrong_method_is_answered_with_all_right_ones(client: httpx2.AsyncClient) -> None:
    answer = await client.put("/v1/crawl/some")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, HEAD")


@pytest.mark.parametrize(
    ("field", "value"),
    [("render", 0), ("render", "yes"), ("sitemap", "yes"), ("maxDepth", "2"), ("maxDepth", True)],
)
async def test_a_body_has_numbers_and_flags_of_its_own(
    client: httpx2.AsyncClient, field: str, value: object
) -> None:
    answer = await client.post("/v1/crawl", json={"url": "https://a.example/", field: value})
    assert answer.status_code == 400
    assert [p["field"] for p in answer.json()["error"]["validationErrors"]] == [field]
