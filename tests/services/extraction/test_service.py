"""Extract requests end to end, and the size limit of their data."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from cinder.errors import ErrorCode, ExtractionFailed, InvalidRequest
from cinder.models.document import Json
from cinder.models.extraction import (
    ClaimedValue,
    ExtractionEngine,
    ExtractRequest,
    Grounding,
    Method,
    QuotedText,
)
from cinder.models.request import OWNER
from cinder.services.extraction.service import cut_to_size
from tests.cli.commands import free_port
from tests.llm.servers import OpenAiServer
from tests.llm.small_model import needs_model, running_model
from tests.resolver import TableResolver
from tests.search_servers.serving import Reply, serving
from tests.services.extraction.findings import findings, value
from tests.services.extraction.wares import ALL, asking_for, check_proof, open_with_model, urls_of
from tests.site import Site
from tests.site.shop import HIDDEN

KETTLE = {"name": "Iron Kettle", "price": 49.5, "uses": ["Tea", "Soup"]}


async def test_three_pages_are_joined_each_value_with_proof(app: App, site: Site) -> None:
    answer = await app.extract.extract(asking_for(site, *ALL))
    found = answer.extracted
    assert found.data == {
        "name": "Iron Kettle",
        "price": 49.5,
        "uses": ["Tea", "Soup", "Light", "Raking"],
    }
    assert found.missing == ("smith",)
    assert [each.url for each in answer.sources] == list(urls_of(site, *ALL))
    assert {str(each.other.value) for each in found.conflicts} >= {"Storm Lantern", "18.25"}
    assert await check_proof(app, answer) == 6
    soup = next(each for each in found.values if each.value == "Soup")
    assert [each.url for each in soup.evidence] == list(urls_of(site, "kettle", "lantern"))
    assert answer.engines == (ExtractionEngine.RULES,)
    assert answer.usage is None


async def test_without_a_model_what_is_missing_is_handed_off(app: App, site: Site) -> None:
    answer = await app.extract.extract(asking_for(site, "kettle"))
    assert answer.fallback_passages is not None
    assert answer.fallback_passages.fields == ("smith",)
    assert "Tobias Flint" in answer.fallback_passages.passages[0].text
    assert not any(HIDDEN in each.text for each in answer.fallback_passages.passages)
    assert "verify" in answer.fallback_passages.instruction
    assert any("No language model is configured" in each for each in answer.extracted.warnings)


async def test_what_only_the_markup_says_is_proved_by_the_page_as_it_came(
    app: App, site: Site
) -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"author": {"type": "string"}}}
    request = ExtractRequest(urls=(site.url("/article"),), caller=OWNER, schema=schema)
    answer = await app.extract.extract(request)
    (author,) = answer.extracted.values
    assert (author.value, author.evidence[0].text) == ("Ada Stoker", QuotedText.PAGE)
    assert await check_proof(app, answer) == 1


async def test_a_pdf_is_read_by_its_text(app: App, site: Site) -> None:
    properties: Json = {"wood": {"type": "string"}, "hours": {"type": "integer"}}
    rows: Json = {"type": "array", "items": {"type": "object", "properties": properties}}
    schema: dict[str, Json] = {"type": "object", "properties": {"woods": rows}}
    url = site.url("/document?name=leaflet.pdf")
    answer = await app.extract.extract(ExtractRequest(urls=(url,), caller=OWNER, schema=schema))
    woods: list[Json] = [{"wood": "Oak", "hours": 9}, {"wood": "Pine", "hours": 3}]
    assert answer.extracted.data == {"woods": woods}
    assert await check_proof(app, answer) == len(answer.extracted.values)


async def test_one_url_that_fails_does_not_fail_the_rest(app: App, site: Site) -> None:
    request = asking_for(site, "kettle")
    request = replace(request, urls=(site.url("/status?code=503"), *request.urls))
    answer = await app.extract.extract(request)
    assert answer.extracted.data == KETTLE
    broken, whole = answer.sources
    assert (broken.error or "").startswith("TARGET_HTTP_ERROR")
    assert (whole.error, whole.title) == (None, "Iron Kettle")


async def test_what_is_not_the_page_asked_for_gives_no_values(app: App, site: Site) -> None:
    request = asking_for(site, "kettle")
    answer = await app.extract.extract(replace(request, urls=(*request.urls, site.url("/image"))))
    assert answer.extracted.data == KETTLE
    assert "image/png" in (answer.sources[1].error or "")


async def test_nothing_to_read_at_all_is_a_failure_that_says_what_was_tried(
    app: App, site: Site
) -> None:
    urls = (site.url("/status?code=500"), site.url("/image"))
    with pytest.raises(ExtractionFailed) as caught:
        await app.extract.extract(ExtractRequest(urls=urls, caller=OWNER, prompt="name"))
    assert caught.value.code is ErrorCode.EXTRACTION_FAILED
    assert all(url in caught.value.message for url in urls)


async def test_a_schema_that_is_none_is_refused_by_its_place(app: App, site: Site) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "text"}}}
    with pytest.raises(InvalidRequest) as caught:
        await app.extract.extract(asking_for(site, "kettle", schema=schema))
    assert caught.value.problems[0].field == "schema.properties.name.type"
    assert site.hits("/ware") == 0


async def test_more_urls_than_the_owner_allows_are_refused(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    extract = settings.extract.model_copy(update={"max_urls": 2})
    settings = settings.model_copy(update={"extract": extract})
    async with open_app(settings, resolver=resolver) as app:
        with pytest.raises(InvalidRequest) as caught:
            await app.extract.extract(asking_for(site, *ALL))
    assert caught.value.problems[0].field == "urls"


async def test_a_value_that_the_schema_refuses_is_left_out_and_said(app: App, site: Site) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "price": {"type": "number", "maximum": 10}},
    }
    answer = await app.extract.extract(asking_for(site, "kettle", schema=schema))
    assert answer.extracted.data == {"name": "Iron Kettle"}
    assert answer.extracted.missing == ("price",)
    assert answer.schema_problems == ()
    assert any("maximum of 10" in each for each in answer.extracted.warnings)


@pytest.mark.parametrize("schema", [None, {}, {"type": "object"}])
async def test_a_prompt_alone_is_read_for_the_fields_that_it_lists(
    app: App, site: Site, schema: Mapping[str, Json] | None
) -> None:
    request = asking_for(site, "kettle", prompt="Extract product name and price", schema=schema)
    answer = await app.extract.extract(request)
    assert answer.extracted.data == {"productName": "Iron Kettle", "price": 49.5}
    assert answer.fallback_passages is None


async def test_a_prompt_that_lists_nothing_is_handed_off_without_a_model(
    app: App, site: Site
) -> None:
    request = asking_for(site, "kettle", prompt="Summarise what is special here", schema=None)
    answer = await app.extract.extract(request)
    assert answer.extracted.data == {}
    assert answer.fallback_passages is not None
    assert answer.fallback_passages.passages


async def test_a_model_fills_what_rules_miss_and_is_asked_for_nothing_else(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    said = {"smith": {"value": "Tobias Flint", "quote": "the forge of old Tobias Flint"}}
    async with (
        serving(OpenAiServer(json.dumps(said))) as server,
        open_with_model(settings, resolver, f"{server.url}/v1") as app,
    ):
        answer = await app.extract.extract(asking_for(site, "kettle"))
        assert answer.extracted.data == {**KETTLE, "smith": "Tobias Flint"}
        assert await check_proof(app, answer) == 5
    smith = next(each for each in answer.extracted.values if each.path == ("smith",))
    assert (smith.evidence[0].method, smith.evidence[0].grounding) == (
        Method.MODEL,
        Grounding.VERIFIED,
    )
    assert answer.engines == (ExtractionEngine.RULES, ExtractionEngine.MODEL)
    assert answer.usage is not None
    assert answer.usage.calls >= 1
    assert answer.fallback_passages is None
    (body,) = server.bodies
    wanted = body["response_format"]["json_schema"]["schema"]["properties"]
    assert list(wanted) == ["smith"]


async def test_hidden_text_never_reaches_the_model(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    async with (
        serving(OpenAiServer('{"smith": {"value": null, "quote": null}}')) as server,
        open_with_model(settings, resolver, f"{server.url}/v1") as app,
    ):
        await app.extract.extract(asking_for(site, "kettle"))
    sent = "".join(asked.body.decode() for asked in server.asked)
    assert "Tobias Flint" in sent
    assert HIDDEN not in sent
    assert "one cent" not in sent


@pytest.mark.parametrize("strict", [False, True])
async def test_a_value_that_is_not_on_the_page_is_unverified_or_dropped(
    settings: Settings, resolver: TableResolver, site: Site, strict: bool
) -> None:
    said = {"smith": {"value": "Wayland the Great", "quote": "forged by Wayland the Great"}}
    async with (
        serving(OpenAiServer(json.dumps(said))) as server,
        open_with_model(settings, resolver, f"{server.url}/v1") as app,
    ):
        answer = await app.extract.extract(asking_for(site, "kettle", strict_grounding=strict))
    smiths = [each for each in answer.extracted.values if each.path == ("smith",)]
    if strict:
        assert (smiths, answer.extracted.missing) == ([], ("smith",))
        assert answer.fallback_passages is not None
    else:
        assert [each.evidence[0].grounding for each in smiths] == [Grounding.UNVERIFIED]
        assert answer.extracted.missing == ()


async def test_a_dead_model_leaves_what_rules_found_and_a_plain_sentence(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    async with open_with_model(settings, resolver, f"http://127.0.0.1:{free_port()}/v1") as app:
        answer = await app.extract.extract(asking_for(site, *ALL))
    assert answer.extracted.missing == ("smith",)
    assert answer.engines == (ExtractionEngine.RULES,)
    (sentence,) = [each for each in answer.extracted.warnings if "language model" in each]
    assert sentence.endswith("What was found without it is here.")
    assert answer.fallback_passages is not None


async def test_a_model_that_was_down_is_asked_again_of_every_page(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    nothing = {"smith": {"value": None, "quote": None}}
    berta = {"smith": {"value": "Berta Wick", "quote": "the forge of old Berta Wick"}}
    server = OpenAiServer(json.dumps(nothing), json.dumps(berta))
    server.fail_with(Reply(b"down", status=503))
    async with (
        serving(server),
        open_with_model(settings, resolver, f"{server.url}/v1") as app,
    ):
        request = asking_for(site, "kettle", "lantern")
        down = await app.extract.extract(request)
        assert down.extracted.missing == ("smith",)
        answer = await app.extract.extract(request)
    assert isinstance(answer.extracted.data, dict)
    assert answer.extracted.data["smith"] == "Berta Wick"


async def test_without_a_schema_the_model_says_which_fields_there_are(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    item = {"name": "forge", "value": "Tobias Flint", "quote": "the forge of old Tobias Flint"}
    lines = [json.dumps({"found": [item]}), json.dumps({"found": []})]
    async with (
        serving(OpenAiServer(*lines)) as server,
        open_with_model(settings, resolver, f"{server.url}/v1") as app,
    ):
        request = asking_for(site, "kettle", prompt="Whose work is it?", schema=None)
        answer = await app.extract.extract(request)
    assert answer.extracted.data == {"forge": "Tobias Flint"}
    assert answer.engines == (ExtractionEngine.MODEL,)


async def test_what_was_found_is_not_asked_again_of_the_same_content(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    said = {"smith": {"value": "Tobias Flint", "quote": "old Tobias Flint"}}
    async with (
        serving(OpenAiServer(json.dumps(said))) as server,
        open_with_model(settings, resolver, f"{server.url}/v1") as app,
    ):
        first = await app.extract.extract(asking_for(site, "kettle"))
        again = await app.extract.extract(asking_for(site, "kettle"))
        other = await app.extract.extract(asking_for(site, "kettle", prompt="Who made it?"))
    assert again.extracted.data == first.extracted.data
    assert again.usage is not None
    assert again.usage.calls == 0
    assert other.usage is not None
    assert other.usage.calls >= 1


async def test_a_model_is_asked_of_later_pages_only_for_what_no_page_has(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    said = {"smith": {"value": "Tobias Flint", "quote": "old Tobias Flint"}}
    async with (
        serving(OpenAiServer(json.dumps(said))) as server,
        open_with_model(settings, resolver, f"{server.url}/v1") as app,
    ):
        answer = await app.extract.extract(asking_for(site, *ALL))
    assert len(server.bodies) == 1
    assert answer.extracted.missing == ()


async def test_what_the_caller_found_is_checked_against_the_page(app: App, site: Site) -> None:
    (url,) = urls_of(site, "kettle")
    claims = (
        ClaimedValue(path=("smith",), value="Tobias Flint", quote="old Tobias Flint", url=url),
        ClaimedValue(path=("price",), value=1, quote="one cent"),
    )
    answer = await app.extract.extract(asking_for(site, "kettle", claims=claims))
    assert answer.extracted.data == {**KETTLE, "smith": "Tobias Flint"}
    proved = {each.path: each.evidence[0] for each in answer.extracted.values}
    assert proved[("smith",)].method is Method.CALLER
    assert proved[("smith",)].grounding is Grounding.VERIFIED
    assert [each.other.value for each in answer.extracted.conflicts] == [1]
    assert await check_proof(app, answer) == 5
    assert ExtractionEngine.CALLER in answer.engines
    assert answer.fallback_passages is None


async def test_claims_without_a_schema_are_checked_by_their_own_shape(app: App, site: Site) -> None:
    claims = (
        ClaimedValue(path=("makers",), value=[{"name": "Tobias Flint"}], quote="old Tobias Flint"),
        ClaimedValue(path=("invented",), value="Wayland", quote="Wayland"),
    )
    request = asking_for(site, "kettle", prompt="", schema=None, claims=claims)
    answer = await app.extract.extract(replace(request, strict_grounding=True))
    assert answer.extracted.data == {"makers": [{"name": "Tobias Flint"}]}
    assert answer.extracted.missing == ("invented",)


@needs_model
async def test_a_real_small_model_answers_within_the_schema(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    with running_model() as address:
        options = {"max_calls": 6, "max_output_tokens": 200, "chunk_tokens": 400}
        async with open_with_model(settings, resolver, f"{address}/v1", **options) as app:
            answer = await app.extract.extract(asking_for(site, "kettle"))
            await check_proof(app, answer)
    assert answer.schema_problems == ()
    assert answer.usage is not None
    assert answer.usage.calls >= 1
    assert answer.usage.tokens > 0
    data = answer.extracted.data
    assert isinstance(data, dict)
    assert {**data, **KETTLE} == data


def test_what_fits_is_left_alone() -> None:
    found = findings(value(("name",), "Kettle"))
    assert cut_to_size(found, 1_000) is found


def test_what_is_beyond_is_left_out_item_by_item_and_said() -> None:
    items = [
        value(("wares", n, name), f"{name} {n} {'é' * 20}")
        for n in range(100)
        for name in ("name", "maker")
    ]
    cut = cut_to_size(findings(*items), 2_000)
    assert isinstance(cut.data, dict)
    assert len(json.dumps(cut.data, ensure_ascii=False).encode()) <= 2_000
    wares = cut.data["wares"]
    assert isinstance(wares, list)
    assert all(isinstance(ware, dict) and len(ware) == 2 for ware in wares)
    assert len(wares) > 5
    assert f"Only {2 * len(wares)} of 200 values" in cut.warnings[0]
