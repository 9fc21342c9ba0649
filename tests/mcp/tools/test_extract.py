"""The tool `cinder_extract`, in both eras of the protocol."""

import json
from typing import Any

import mcp_types as types
import pytest

from cinder.app.composition import App
from cinder.mcp.server import TOOLS, build_server
from tests.mcp.conftest import Call
from tests.mcp.reading import error_of, text_of, unmarked
from tests.services.extraction.wares import ALL, PROMPT, SCHEMA, urls_of
from tests.site import Site

BOTH_ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


def data_of(result: types.CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text_of(result)
    data = dict(result.structured_content or {})
    assert json.loads(text_of(unmarked(result))) == data
    return data


@BOTH_ERAS
async def test_three_urls_a_prompt_and_a_schema_give_data_proof_and_sources(
    call: Call, site: Site
) -> None:
    urls = list(urls_of(site, *ALL))
    answer = data_of(await call("cinder_extract", urls=urls, prompt=PROMPT, schema=SCHEMA))
    assert answer["data"]["uses"] == ["Tea", "Soup", "Light", "Raking"]
    assert {each["grounding"] for each in answer["proof"]} == {"verified", "normalized"}
    assert [each["url"] for each in answer["sources"]] == urls
    assert answer["handOff"]["fields"] == ["smith"]


async def test_quotes_stand_at_their_offsets_in_the_resource(
    call: Call, app: App, site: Site
) -> None:
    urls = list(urls_of(site, "kettle"))
    answer = data_of(await call("cinder_extract", urls=urls, schema=SCHEMA))
    (source,) = answer["sources"]
    saved = await app.archive.read(source["uri"], "owner")
    assert saved is not None
    text = saved.text or ""
    quotes = [each for each in answer["proof"] if each["text"] == "markdown"]
    assert len(quotes) == 4
    assert all(text[each["start"] : each["end"]] == each["quote"] for each in quotes)


async def test_arguments_may_come_as_json_in_strings(call: Call, site: Site) -> None:
    claim = {"path": "smith", "value": "Tobias Flint", "quote": "old Tobias Flint"}
    wanted = {"urls": urls_of(site, "kettle"), "schema": SCHEMA, "verify": [claim]}
    packed = {name: json.dumps(value) for name, value in wanted.items()}
    answer = data_of(await call("cinder_extract", **packed))
    assert answer["data"]["smith"] == "Tobias Flint"


async def test_a_schema_that_is_not_valid_is_named_by_its_place(call: Call, site: Site) -> None:
    schema = {"type": "object", "properties": {"name": {"type": 7}}}
    result = await call("cinder_extract", urls=list(urls_of(site, "kettle")), schema=schema)
    assert "schema.properties.name.type" in error_of(result)


async def test_a_schema_in_a_text_that_is_no_json_is_refused(call: Call, site: Site) -> None:
    urls = list(urls_of(site, "kettle"))
    result = await call("cinder_extract", urls=urls, schema='{"type": "object"')
    assert "- schema: No JSON object." in error_of(result)


async def test_data_that_is_no_object_is_asked_for_in_one(call: Call, site: Site) -> None:
    schema = {"type": "array", "items": {"type": "string"}}
    result = await call("cinder_extract", urls=list(urls_of(site, "kettle")), schema=schema)
    assert "must describe an object" in error_of(result)


def test_the_server_tells_of_it(app: App) -> None:
    assert "cinder_extract" in (build_server(app, TOOLS).instructions or "")
