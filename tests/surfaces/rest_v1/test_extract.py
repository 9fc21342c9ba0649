"""POST /v1/extract: data, proof and sources over HTTP."""

from typing import Any

import httpx2
import pytest

from tests.services.extraction.wares import ALL, PROMPT, SCHEMA, urls_of
from tests.site import Site


async def ask(client: httpx2.AsyncClient, **body: Any) -> tuple[int, dict[str, Any]]:
    response = await client.post("/v1/extract", json=body, timeout=60)
    return response.status_code, response.json()


async def test_three_urls_a_prompt_and_a_schema_give_data_proof_and_sources(
    client: httpx2.AsyncClient, site: Site
) -> None:
    urls = urls_of(site, *ALL)
    status, answer = await ask(client, urls=urls, prompt=PROMPT, schema=SCHEMA)
    assert status == 200
    uses = ["Tea", "Soup", "Light", "Raking"]
    assert answer["data"] == {"name": "Iron Kettle", "price": 49.5, "uses": uses}
    price = next(each for each in answer["proof"] if each["path"] == "price")
    assert price == {
        "path": "price",
        "grounding": "normalized",
        "method": "label",
        "url": urls[0],
        "quote": "$49.50",
        "text": "markdown",
        "start": price["start"],
        "end": price["start"] + 6,
        "label": "Price",
        "rule": "amount of money",
    }
    assert [each["url"] for each in answer["sources"]] == list(urls)
    assert {each["verdict"] for each in answer["sources"]} == {"ok"}
    assert answer["missing"] == ["smith"]
    assert answer["engine"] == "rules"
    assert {each["path"] for each in answer["conflicts"]} == {"name", "price"}
    assert "usage" not in answer


async def test_what_is_missing_can_be_found_by_the_caller_and_sent_back(
    client: httpx2.AsyncClient, site: Site
) -> None:
    wanted = {"urls": urls_of(site, "lantern", "kettle"), "schema": SCHEMA}
    _, answer = await ask(client, **wanted)
    hand_off = answer["handOff"]
    assert (hand_off["fields"], hand_off["schema"]) == (["smith"], SCHEMA)
    passage = next(each for each in hand_off["passages"] if "Tobias Flint" in each["text"])
    claim = {"path": "smith", "value": "Tobias Flint", "quote": "the forge of old Tobias Flint"}
    _, answer = await ask(client, **wanted, verify=[{**claim, "passage": passage["id"]}])
    assert answer["data"]["smith"] == "Tobias Flint"
    assert "handOff" not in answer
    smith = next(each for each in answer["proof"] if each["path"] == "smith")
    assert (smith["grounding"], smith["method"]) == ("verified", "caller")
    assert smith["url"] == passage["url"]
    assert "caller" in answer["engine"]


async def test_a_claim_without_proof_is_unverified_and_dropped_when_strict(
    client: httpx2.AsyncClient, site: Site
) -> None:
    claim = {"path": "smith", "value": "Wayland", "quote": "forged by Wayland"}
    wanted = {"urls": urls_of(site, "kettle"), "schema": SCHEMA, "verify": [claim]}
    _, answer = await ask(client, **wanted)
    smith = next(each for each in answer["proof"] if each["path"] == "smith")
    assert smith["grounding"] == "unverified"
    _, answer = await ask(client, **wanted, strictGrounding=True)
    assert "smith" not in answer["data"]
    assert answer["missing"] == ["smith"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"prompt": "name"}, "urls"),
        ({"urls": [], "prompt": "name"}, "urls"),
        ({"urls": ["https://a.example/"]}, "prompt"),
        ({"urls": ["https://a.example/"], "prompt": " "}, "prompt"),
        ({"urls": ["ftp://a.example/"], "prompt": "name"}, "urls[0]"),
        ({"urls": ["a.example"] + [f"a{n}.example" for n in range(10)], "prompt": "x"}, "urls"),
        (
            {"urls": ["a.example"], "schema": {"type": "object", "required": "name"}},
            "schema.required",
        ),
        ({"urls": ["a.example"], "prompt": "x", "strict": True}, "strict"),
        ({"urls": ["a.example"], "verify": [{"path": "a"}]}, "verify[0].value"),
        (
            {"urls": ["a.example"], "verify": [{"path": "a..b", "value": 1, "quote": "1"}]},
            "verify[0].path",
        ),
        (
            {
                "urls": ["a.example"],
                "verify": [{"path": "a", "value": 1, "quote": "1", "passage": "2-p"}],
            },
            "verify[0].passage",
        ),
        (
            {
                "urls": ["a.example"],
                "verify": [{"path": "a", "value": 1, "quote": "1", "url": "b.example"}],
            },
            "verify[0].url",
        ),
    ],
)
async def test_what_is_wrong_with_a_request_is_named(
    client: httpx2.AsyncClient, body: dict[str, Any], field: str
) -> None:
    status, answer = await ask(client, **body)
    assert (status, answer["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert field in [each["field"] for each in answer["error"]["validationErrors"]]


async def test_nothing_to_read_is_a_failure_that_says_what_was_tried(
    client: httpx2.AsyncClient, site: Site
) -> None:
    status, answer = await ask(client, urls=[site.url("/status?code=500")], prompt="name")
    assert (status, answer["error"]["code"]) == (500, "EXTRACTION_FAILED")
    assert "500" in answer["error"]["message"]


async def test_the_route_is_documented_with_an_example(client: httpx2.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    body = document["paths"]["/v1/extract"]["post"]["requestBody"]["content"]["application/json"]
    assert set(body["example"]) == {"urls", "prompt", "schema"}
    assert "schema" in document["components"]["schemas"]["ExtractArguments"]["properties"]
