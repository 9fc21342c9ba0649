"""Recipes end to end: values of a model on one page are found on the next without it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings, read_settings
from cinder.models.document import Json
from cinder.models.extraction import (
    ClaimedValue,
    ExtractAnswer,
    ExtractionEngine,
    ExtractRequest,
    Grounding,
    Method,
    QuotedText,
)
from cinder.models.request import OWNER
from tests.llm.knowing_servers import KnowingOpenAiServer
from tests.resolver import TableResolver
from tests.search_servers.serving import serving
from tests.services.extraction.rooms import (
    PROMPT,
    ROOMS,
    SCHEMA,
    RoomServer,
    misleading_layout,
    second_layout,
)


def tell_keeper(words: str) -> str:
    """Answer as a model that reads well: with the keeper whose name stands in the passages."""
    names = [room.keeper for room in ROOMS if room.keeper in words]
    value = names[0] if names else None
    return json.dumps({"keeper": {"value": value, "quote": value}})


@dataclass(frozen=True)
class Stay:
    """Cinder with a model, and the site of rooms."""

    app: App
    rooms: RoomServer
    model: KnowingOpenAiServer

    async def ask(self, number: int, **options: str) -> ExtractAnswer:
        request = ExtractRequest(
            urls=(self.rooms.room(number),), caller=OWNER, prompt=PROMPT, schema=SCHEMA
        )
        return await self.app.extract.extract(replace(request, **options))  # type: ignore[arg-type]  # its texts

    def count(self, event: str) -> float:
        registry = self.app.metrics.registry
        return registry.get_sample_value("cinder_recipes_total", {"event": event}) or 0


@asynccontextmanager
async def open_stay(tmp_path: Path, **extract: object) -> AsyncIterator[Stay]:
    rooms, model = RoomServer(), KnowingOpenAiServer(tell_keeper)
    async with serving(rooms), serving(model):
        settings: Settings = read_settings(
            data_dir=tmp_path / "data",
            egress={"allow": [rooms.address]},
            llm={"base_url": f"{model.url}/v1", "model": "ember-1", "max_retries": 0},
            extract=extract,
        )
        async with open_app(settings, resolver=TableResolver({})) as app:
            yield Stay(app, rooms, model)


@pytest.fixture
async def stay(tmp_path: Path) -> AsyncIterator[Stay]:
    async with open_stay(tmp_path) as opened:
        yield opened


async def test_the_second_page_of_a_site_needs_no_model(stay: Stay) -> None:
    first = await stay.ask(0)
    assert first.extracted.data == ROOMS[0].data
    asked = len(stay.model.prompts)
    assert asked >= 1
    second = await stay.ask(1)
    assert second.extracted.data == ROOMS[1].data
    assert len(stay.model.prompts) == asked
    assert second.usage is not None
    assert second.usage.calls == 0
    assert ExtractionEngine.RECIPE in second.engines
    assert ExtractionEngine.MODEL not in second.engines
    assert (stay.count("learned"), stay.count("tried"), stay.count("hit")) == (1, 1, 1)


async def test_the_proof_names_the_recipe_and_stands_in_its_own_page(stay: Stay) -> None:
    await stay.ask(0)
    answer = await stay.ask(1)
    (keeper,) = [each for each in answer.extracted.values if each.path == ("keeper",)]
    proof = keeper.evidence[0]
    assert (proof.method, proof.grounding) == (Method.RECIPE, Grounding.VERIFIED)
    assert (proof.quote, proof.label) == ("Grace Murray", "p.host-line")
    assert proof.text is QuotedText.MARKDOWN
    (source,) = answer.sources
    assert source.uri is not None
    body = await stay.app.archive.read(source.uri, OWNER)
    assert body is not None
    assert (body.text or "")[proof.start : proof.end] == "Grace Murray"


async def test_a_changed_layout_is_noticed_and_learned_anew(stay: Stay) -> None:
    await stay.ask(0)
    stay.rooms.layout = second_layout
    changed = await stay.ask(1)
    assert changed.extracted.data == ROOMS[1].data
    assert ExtractionEngine.MODEL in changed.engines
    asked = len(stay.model.prompts)
    third = await stay.ask(2)
    assert third.extracted.data == ROOMS[2].data
    assert len(stay.model.prompts) == asked
    (kept,) = await stay.app.recipes.list_recipes()
    assert "div.byline-person" in str(kept.recipe)
    assert "p.host-line" not in str(kept.recipe)


async def test_a_recipe_that_the_page_contradicts_is_dropped_at_once(stay: Stay) -> None:
    await stay.ask(0)
    (before,) = await stay.app.recipes.list_recipes()
    stay.rooms.layout = misleading_layout
    answer = await stay.ask(1)
    assert answer.extracted.data == ROOMS[1].data
    assert ExtractionEngine.RECIPE not in answer.engines
    assert stay.count("dropped") == 1
    assert await stay.app.recipes.find(before.id) is None


async def test_a_recipe_that_misses_too_often_is_dropped(tmp_path: Path) -> None:
    async with open_stay(tmp_path, recipe_max_failures=2) as stay:
        await stay.ask(0)
        (kept,) = await stay.app.recipes.list_recipes()
        stay.rooms.layout = lambda room: f"<title>{room.name}</title><p>Closed for the winter.</p>"
        await stay.ask(1)
        (failing,) = await stay.app.recipes.list_recipes()
        assert (failing.id, failing.failures) == (kept.id, 1)
        await stay.ask(2)
        assert await stay.app.recipes.list_recipes() == []
        assert stay.count("dropped") == 1


async def test_another_prompt_is_another_wish(stay: Stay) -> None:
    await stay.ask(0)
    asked = len(stay.model.prompts)
    await stay.ask(1, prompt="Who cleans the rooms?")
    assert len(stay.model.prompts) > asked
    assert stay.count("tried") == 0


async def test_recipes_can_be_turned_off(tmp_path: Path) -> None:
    async with open_stay(tmp_path, recipes=False) as stay:
        await stay.ask(0)
        asked = len(stay.model.prompts)
        answer = await stay.ask(1)
        assert answer.extracted.data == ROOMS[1].data
        assert len(stay.model.prompts) > asked
        assert await stay.app.recipes.list_recipes() == []


async def test_a_value_that_the_schema_refuses_counts_against_its_recipe(stay: Stay) -> None:
    properties: dict[str, Json] = {
        "name": {"type": "string"},
        "price": {"type": "number"},
        "keeper": {"type": "string", "description": "Who receives the guests", "maxLength": 10},
    }
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    for number in (0, 1):
        request = ExtractRequest(
            urls=(stay.rooms.room(number),), caller=OWNER, prompt=PROMPT, schema=schema
        )
        answer = await stay.app.extract.extract(request)
    assert answer.extracted.data == {"name": "The Attic", "price": 64.5}
    assert (stay.count("tried"), stay.count("hit")) == (1, 0)


async def test_what_a_caller_found_and_the_page_proves_is_learned(tmp_path: Path) -> None:
    async with open_stay(tmp_path) as stay:
        stay.model.tell = lambda _: json.dumps({"keeper": {"value": None, "quote": None}})
        claim = ClaimedValue(path=("keeper",), value="Ada Byron", quote="Ada Byron")
        request = ExtractRequest(
            urls=(stay.rooms.room(0),), caller=OWNER, prompt=PROMPT, schema=SCHEMA, claims=(claim,)
        )
        checked = await stay.app.extract.extract(request)
        assert checked.extracted.data == ROOMS[0].data
        answer = await stay.ask(1)
        assert answer.extracted.data == ROOMS[1].data
        assert stay.model.prompts == []
        (kept,) = await stay.app.recipes.list_recipes()
        assert kept.place.owner == OWNER


async def test_only_proved_values_are_learned(tmp_path: Path) -> None:
    async with open_stay(tmp_path) as stay:
        stay.model.tell = lambda _: json.dumps(
            {"keeper": {"value": "Mary Anning", "quote": "Mary Anning receives you"}}
        )
        await stay.ask(0)
        kept = await stay.app.recipes.list_recipes()
    assert all(rule.path != ("keeper",) for each in kept for rule in each.recipe.rules)
