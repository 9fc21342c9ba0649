"""Recipes of sites: their keys, who may use them, and learning."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from cinder.models.document import Json
from cinder.models.extraction import Evidence, ExtractedData, FieldValue, Grounding, Method
from cinder.models.recipe import KeptRecipe
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.services.extraction.site_recipes import (
    RecipeLearner,
    RecipeStage,
    describe_fields,
    is_worth_learning_from,
    recipe_place_of,
    shape_of,
    site_of,
)
from cinder.services.extraction.stages import ExtractionRun, LoadedPage, make_extraction_spec
from cinder.store.documents import Store
from cinder.store.recipe_book import RecipeLimits
from tests.store.conftest import open_at
from tests.store.samples import Clock

SCHEMA: dict[str, Json] = {"type": "object", "properties": {"keeper": {"type": "string"}}}
SPEC = make_extraction_spec("", SCHEMA)
FIELDS = SPEC.fields.names


def page(keeper: str, *, owner: str | None = None, name: str = "1") -> LoadedPage:
    return LoadedPage(
        url=f"https://inn.example/rooms/{name}",
        markdown=f"Room\n\n{keeper}",
        text=f"<body><main><p>Room</p><p class='host-line'>{keeper}</p></main></body>",
        content_type="text/html",
        owner=owner,
    )


def told(keeper: str, method: Method = Method.MODEL) -> ExtractedData:
    evidence = Evidence(method=method, quote=keeper, grounding=Grounding.VERIFIED)
    value = FieldValue(path=("keeper",), value=keeper, evidence=(evidence,))
    return ExtractedData(data={"keeper": keeper}, values=(value,))


@dataclass(frozen=True)
class School:
    """A learner and a stage over one database."""

    store: Store
    stage: RecipeStage
    learner: RecipeLearner
    events: list[str] = field(default_factory=list)

    async def learn(
        self, of: LoadedPage, keeper: str, method: Method = Method.MODEL, caller: str = "her"
    ) -> None:
        await self.learner.learn([of], SPEC, [told(keeper, method)], ExtractionRun(caller=caller))

    async def find(self, on: LoadedPage, caller: str = "her") -> Json:
        found = await self.stage.find(on, SPEC, FIELDS, ExtractionRun(caller=caller))
        return found.data

    async def kept(self) -> list[KeptRecipe]:
        return await self.store.recipes.list_recipes()


@asynccontextmanager
async def open_school(path: Path, max_failures: int = 3) -> AsyncIterator[School]:
    events: list[str] = []
    async with (
        open_at(f"sqlite:///{path / 'cinder.db'}", Clock()) as store,
        ExtractionSandbox(1, 30, 1_000_000_000) as sandbox,
    ):
        stage = RecipeStage(sandbox, store.recipes, max_failures=max_failures, count=events.append)
        limits = RecipeLimits(most=100, days=30)
        learner = RecipeLearner(sandbox, store.recipes, limits=limits, count=events.append)
        yield School(store, stage, learner, events)


@pytest.fixture
async def school(tmp_path: Path) -> AsyncIterator[School]:
    async with open_school(tmp_path) as opened:
        yield opened


async def test_what_one_caller_may_see_alone_teaches_no_other(school: School) -> None:
    await school.learn(page("Ada", owner="her"), "Ada")
    assert await school.find(page("Lise", owner="her", name="2")) == {"keeper": "Lise"}
    assert await school.find(page("Lise", name="2")) == {"keeper": "Lise"}
    assert await school.find(page("Lise", owner="him", name="2"), "him") == {}
    assert await school.find(page("Lise", name="2"), "him") == {}


async def test_what_a_caller_says_of_a_page_teaches_him_alone(school: School) -> None:
    await school.learn(page("Ada"), "Ada", Method.CALLER, "him")
    assert await school.find(page("Lise", name="2"), "him") == {"keeper": "Lise"}
    assert await school.find(page("Lise", name="2"), "her") == {}


async def test_what_rules_find_by_themselves_teaches_nothing(school: School) -> None:
    await school.learn(page("Ada"), "Ada", Method.LABEL)
    assert await school.kept() == []


async def test_what_everybody_may_see_helps_with_pages_of_ones_own(school: School) -> None:
    await school.learn(page("Ada"), "Ada")
    assert await school.find(page("Lise", owner="her", name="2")) == {"keeper": "Lise"}


async def test_a_page_of_one_caller_cannot_drop_what_is_everybodys(tmp_path: Path) -> None:
    async with open_school(tmp_path, max_failures=1) as school:
        await school.learn(page("Ada"), "Ada")
        other = replace(page("Lise", owner="her"), text="<body><main><p>Members only</p></main>")
        assert await school.find(other) == {}
        assert len(await school.kept()) == 1
        assert await school.find(replace(other, owner=None)) == {}
        assert await school.kept() == []
        assert school.events == ["learned", "tried", "tried", "dropped"]


async def test_pages_of_another_shape_profit_and_do_no_harm(tmp_path: Path) -> None:
    async with open_school(tmp_path, max_failures=1) as school:
        await school.learn(page("Ada"), "Ada")
        suite = replace(page("Lise"), url="https://inn.example/suites/1")
        assert await school.find(suite) == {"keeper": "Lise"}
        assert await school.find(replace(suite, text="<body><p>Nothing here</p>")) == {}
        assert len(await school.kept()) == 1


async def test_other_sites_have_recipes_of_their_own(school: School) -> None:
    await school.learn(page("Ada"), "Ada")
    assert await school.find(replace(page("Lise"), url="https://hotel.example/rooms/1")) == {}


async def test_what_is_no_html_is_left_alone(school: School) -> None:
    file = replace(page("Ada"), text=None)
    await school.learn(file, "Ada")
    assert await school.kept() == []
    await school.learn(page("Ada"), "Ada")
    assert await school.find(file) == {}
    assert school.events == ["learned"]


async def test_a_schema_read_off_a_prompt_teaches_nothing(school: School) -> None:
    guess = make_extraction_spec("the keeper", SCHEMA, is_schema_given=False)
    await school.learner.learn([page("Ada")], guess, [told("Ada")], ExtractionRun())
    assert await school.kept() == []
    await school.learn(page("Ada"), "Ada")
    found = await school.stage.find(page("Lise"), guess, FIELDS, ExtractionRun())
    assert found.values == ()


async def test_a_database_that_fails_does_not_fail_the_answer(tmp_path: Path) -> None:
    async with open_school(tmp_path) as school:
        pass
    # It is closed by now; so are the sandbox's children.
    await school.learn(page("Ada"), "Ada")
    assert school.events == []


def test_what_a_recipe_gave_is_no_lesson() -> None:
    assert is_worth_learning_from(told("Ada"))
    assert is_worth_learning_from(told("Ada", Method.CALLER))
    assert not is_worth_learning_from(told("Ada", Method.TABLE))
    assert not is_worth_learning_from(told("Ada", Method.RECIPE))
    assert not is_worth_learning_from(ExtractedData(data={}))


TAGGED_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array"}},
}


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://www.shop.example/lamps/1", "shop.example"),
        ("https://shop.example:8443/", "shop.example:8443"),
        ("http://[::1]:80/", "[::1]"),
    ],
)
def test_the_site_is_the_host(url: str, site: str) -> None:
    assert site_of(url) == site


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/", "/"),
        ("/lamps/brass-lamp", "/lamps/*"),
        ("/lamps/brass-lamp?utm_source=x", "/lamps/*"),
        ("/2024/05/news/", "/*/*/news/"),
        ("/product.php?id=5&utm_source=x", "/product.php?id=*"),
        ("/product.php", "/product.php"),
        ("/items/8f3a9c77d1/reviews", "/items/*/*"),
    ],
)
def test_the_shape_is_what_pages_made_alike_share(path: str, shape: str) -> None:
    assert shape_of(f"https://shop.example{path}") == shape


def test_a_shape_has_a_bounded_length() -> None:
    assert len(shape_of("https://shop.example/" + "x/" * 2_000)) == 300


def test_the_wish_is_the_schema_and_the_prompt() -> None:
    page = LoadedPage(url="https://a.example/x", markdown="", text="", content_type="", owner="her")

    def wish(prompt: str, schema: dict[str, Json] = TAGGED_SCHEMA) -> str:
        return recipe_place_of(page, make_extraction_spec(prompt, schema)).wish

    assert wish("a  name") == wish(" a name")
    assert len({wish(""), wish("name"), wish("", {"type": "object"})}) == 3
    assert recipe_place_of(page, make_extraction_spec("", TAGGED_SCHEMA)).owner == "her"
    assert describe_fields(make_extraction_spec("", TAGGED_SCHEMA)) == "name, tags"
