"""Recipes of sites: tried before other stages, learned after an extraction, listed, deleted."""

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import can_ada
import structlog

from cinder.errors import CinderError
from cinder.extraction.recipes.learning import is_worth_learning
from cinder.models.extraction import ExtractedData, ExtractionEngine, FieldPath, Method
from cinder.models.recipe import MAX_RECIPES, KeptRecipe, Recipe, RecipePlace, RecipeTrials, Trial
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.services.extraction.stages import ExtractionRun, ExtractionSpec, LoadedPage
from cinder.store import NewRecipe, RecipeBook, RecipeLimits

_MAX_SHAPE_CHARS = 300
_MAX_SUMMARY_CHARS = 300
_MAX_PARAMETERS = 3
_ANY = "*"
# A program makes its pages by what follows it in the address.
_PROGRAM = re.compile(r"[\w-]+\.(?:php|aspx?|jsp|cgi|do|pl)\Z", re.IGNORECASE)
_COUNTED = re.compile(r"[0-9]|[0-9a-f]{8,}\Z", re.IGNORECASE)


def recipe_place_of(page: LoadedPage, wish: ExtractionSpec) -> RecipePlace:
    """Return where recipes for a page and a wish are kept."""
    asked = json.dumps([wish.schema, " ".join(wish.prompt.split())], sort_keys=True)
    return RecipePlace(
        site=site_of(page.url),
        shape=shape_of(page.url),
        wish=hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest(),
        owner=page.owner,
    )


def describe_fields(wish: ExtractionSpec) -> str:
    """Return the fields of a wish, as a list shows them."""
    return ", ".join(wish.fields.names)[:_MAX_SUMMARY_CHARS]


def site_of(url: str) -> str:
    """Return the site of an address: its host, with a port that is not the scheme's."""
    return can_ada.parse(url).host.removeprefix("www.")


def shape_of(url: str) -> str:
    """Return what addresses share whose pages are likely made alike: `/lamps/*`."""
    parsed = can_ada.parse(url)
    *above, last = parsed.pathname.split("/")
    shape = "/".join(_ANY if _COUNTED.match(part) else part for part in above)
    if _PROGRAM.match(last):
        names = list(_parameter_names(parsed.search))[:_MAX_PARAMETERS]
        query = "&".join(f"{name}={_ANY}" for name in names)
        shape = f"{shape}/{last}?{query}" if query else f"{shape}/{last}"
    else:
        shape = f"{shape}/{_ANY if last else ''}"
    return shape[:_MAX_SHAPE_CHARS]


def _parameter_names(query: str) -> Iterator[str]:
    names = {pair.partition("=")[0] for pair in query.removeprefix("?").split("&")}
    return (name for name in sorted(names) if name and not name.startswith("utm_"))


log = structlog.get_logger()


class RecipeStage:
    """Fills a schema by the recipes of a site, and notes how they fared."""

    engine = ExtractionEngine.RECIPE
    # What it finds depends on what was learned by then.
    identity = None

    def __init__(
        self,
        sandbox: ExtractionSandbox,
        book: RecipeBook,
        *,
        max_failures: int,
        count: Callable[[str], None],
    ) -> None:
        """Take the book; `count` is told of each recipe that is tried, hits or is dropped."""
        self._sandbox = sandbox
        self._book = book
        self._max_failures = max_failures
        self._count = count

    async def find(
        self, page: LoadedPage, wish: ExtractionSpec, fields: tuple[str, ...], run: ExtractionRun
    ) -> ExtractedData:
        """Return what a recipe and rules find together; nothing where no recipe holds.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
            Overloaded: too many slow pages wait already.
            CacheFailed: the database cannot be used.
        """
        nothing = ExtractedData(data=wish.fields.nothing, missing=fields)
        if page.text is None or not wish.is_schema_given:
            return nothing
        place = recipe_place_of(page, wish)
        known = await self._book.find(replace(place, owner=run.caller), limit=MAX_RECIPES)
        if not known:
            return nothing
        tried = await self._try(page.text, page, wish, known)
        await self._note(place, known, tried.trials)
        by_recipe = _by_recipe(tried.extracted)
        if Trial.HELD not in tried.trials or not by_recipe:
            return nothing
        if len(by_recipe) < len(tried.extracted.values):
            run.note_engine(ExtractionEngine.RULES)
        return tried.extracted

    async def _try(
        self, text: str, page: LoadedPage, wish: ExtractionSpec, known: Sequence[KeptRecipe]
    ) -> RecipeTrials:
        tried = await self._sandbox.try_recipes(
            text,
            page.markdown,
            content_type=page.content_type,
            url=page.url,
            schema=wish.schema,
            recipes=[each.recipe for each in known],
        )
        refused = {place for place, _ in wish.check.violations(tried.extracted.data)}
        if not refused.isdisjoint(_by_recipe(tried.extracted)):
            # What the schema refuses is not what was learned.
            return RecipeTrials(tried.extracted, (*tried.trials[:-1], Trial.MISSED))
        return tried

    async def _note(
        self, place: RecipePlace, known: Sequence[KeptRecipe], trials: Sequence[Trial]
    ) -> None:
        for kept, trial in zip(known, trials, strict=False):
            self._count("tried")
            if trial is Trial.HELD:
                self._count("hit")
                await self._book.note_success(kept.id)
            elif is_meant_for(kept.place, place):
                most = 1 if trial is Trial.DISAGREED else self._max_failures
                if await self._book.note_failure(kept.id, most):
                    self._count("dropped")
                    log.info("recipe dropped", site=place.site, shape=place.shape, trial=trial)


def is_meant_for(recipe: RecipePlace, page: RecipePlace) -> bool:
    """Whether a page that a recipe fails on speaks against it.

    One of another shape does not, nor one that only its caller sees against what is everybody's.
    """
    return recipe.shape == page.shape and (recipe.owner is not None or page.owner is None)


def _by_recipe(found: ExtractedData) -> set[FieldPath]:
    """Return where the values stand that a recipe gave."""
    return {each.path for each in found.values if each.evidence[0].method is Method.RECIPE}


_TEACHING = (Method.MODEL, Method.CALLER)
# An answer waits no longer for what only later ones profit from.
_MOST_SECONDS = 3.0


class RecipeLearner:
    """Learns recipes from extractions."""

    def __init__(
        self,
        sandbox: ExtractionSandbox,
        book: RecipeBook,
        *,
        limits: RecipeLimits,
        count: Callable[[str], None],
    ) -> None:
        """Take the book; `count` is told of each recipe that is learned."""
        self._sandbox = sandbox
        self._book = book
        self._limits = limits
        self._count = count

    async def learn(
        self,
        pages: Sequence[LoadedPage],
        wish: ExtractionSpec,
        found: Sequence[ExtractedData],
        run: ExtractionRun,
    ) -> None:
        """Keep where pages hold what was found on each, if rules alone did not find it.

        What cannot be learned is only logged: the answer does not depend on it.
        """
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                for page, values in zip(pages, found, strict=True):
                    if wish.is_schema_given and is_worth_learning_from(values):
                        await self._learn_one(page, wish, values, run)
        except (TimeoutError, CinderError) as error:
            log.warning("learning failed", reason=str(error) or "it took too long")

    async def _learn_one(
        self, page: LoadedPage, wish: ExtractionSpec, found: ExtractedData, run: ExtractionRun
    ) -> None:
        if page.text is None:
            return
        recipe = await self._sandbox.learn_recipe(
            page.text,
            page.markdown,
            content_type=page.content_type,
            url=page.url,
            schema=wish.schema,
            values=found.values,
        )
        if not recipe.rules:
            return
        place = recipe_place_of(page, wish)
        if Method.CALLER in _methods(found):
            # What one caller says is none of the others' business.
            place = replace(place, owner=run.caller)
        if Method.RECIPE in _methods(found):
            recipe = await self._updated(place, recipe)
        new = NewRecipe(
            place=place, summary=describe_fields(wish), recipe=recipe, learned_from=page.url
        )
        await self._book.keep(new, self._limits)
        self._count("learned")

    async def _updated(self, place: RecipePlace, recipe: Recipe) -> Recipe:
        """Return a recipe with what the one that held on this page knows besides."""
        for known in await self._book.find(place, limit=MAX_RECIPES):
            if known.place == place:
                return known.recipe.updated_by(recipe)
        return recipe


def is_worth_learning_from(found: ExtractedData) -> bool:
    """Whether findings hold what neither rules nor a recipe gave, and a page proves it."""
    return any(
        is_worth_learning(each) and each.evidence[0].method in _TEACHING for each in found.values
    )


def _methods(found: ExtractedData) -> set[Method]:
    return {each.method for value in found.values for each in value.evidence}


class LearnedRecipes:
    """Shows and deletes recipes, whosever they are."""

    def __init__(self, book: RecipeBook) -> None:
        self._book = book

    async def list_recipes(
        self, site: str | None = None, *, before_id: int | None = None, limit: int = 100
    ) -> list[KeptRecipe]:
        """Return recipes, newest first, from below an id; of one site, or of all."""
        named = read_site(site) if site else None
        return await self._book.list_recipes(named, before_id=before_id, limit=limit)

    async def find(self, recipe_id: int) -> KeptRecipe | None:
        """Return one recipe."""
        return await self._book.find_recipe(recipe_id)

    async def delete(self, recipe_ids: Sequence[int]) -> int:
        """Delete recipes; return how many there were."""
        return sum([await self._book.delete(each) for each in recipe_ids])

    async def delete_site(self, site: str) -> int:
        """Delete the recipes of a site; return how many."""
        return await self._book.delete_site(read_site(site))

    async def delete_all(self) -> int:
        """Delete every recipe; return how many."""
        return await self._book.delete_site(None)


def read_site(said: str) -> str:
    """Return the site that somebody means by a host or an address."""
    try:
        return site_of(said if "://" in said else f"https://{said}")
    except ValueError:
        return said
