"""Recipes of sites: tried before other stages, learned after an extraction, listed, deleted."""

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import can_ada
import structlog

from cinder.errors import CinderError
from cinder.models.extraction import ExtractedData, ExtractionEngine, Method
from cinder.models.recipe import (
    MAX_RECIPES,
    KeptRecipe,
    RecipePlace,
    Trial,
    is_worth_learning,
)
from cinder.sandbox.extraction_messages import LearnRecipeJob, TryRecipesJob
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.services.extraction.stages import ExtractionRun, ExtractionSpec, LoadedPage
from cinder.store.recipe_book import NewRecipe, RecipeBook, RecipeLimits

_MAX_SHAPE_CHARS = 300
_MAX_SUMMARY_CHARS = 300
_MAX_PARAMETERS = 3
_ANY = "*"
# The query after such a file name decides which page the server renders.
_PROGRAM = re.compile(r"[\w-]+\.(?:php|aspx?|jsp|cgi|do|pl)\Z", re.IGNORECASE)
_COUNTED = re.compile(r"[0-9]|[0-9a-f]{8,}\Z", re.IGNORECASE)


def recipe_place_of(page: LoadedPage, spec: ExtractionSpec) -> RecipePlace:
    """Return the key of recipes for a page and a spec."""
    question = json.dumps([spec.schema, " ".join(spec.prompt.split())], sort_keys=True)
    return RecipePlace(
        site=site_of(page.url),
        shape=shape_of(page.url),
        wish=hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest(),
        owner=page.owner,
    )


def describe_fields(spec: ExtractionSpec) -> str:
    """Return the fields of a spec, for lists of recipes."""
    return ", ".join(spec.fields.names)[:_MAX_SUMMARY_CHARS]


def site_of(url: str) -> str:
    """Return the site of a URL: its host, with a port that is not the scheme's default."""
    return can_ada.parse(url).host.removeprefix("www.")


def shape_of(url: str) -> str:
    """Return the pattern of URLs whose pages likely share a template: `/lamps/*`."""
    parsed = can_ada.parse(url)
    *above, last = parsed.pathname.split("/")
    shape = "/".join(_ANY if _COUNTED.match(part) else part for part in above)
    if _PROGRAM.match(last):
        pairs = parsed.search.removeprefix("?").split("&")
        names = sorted({pair.partition("=")[0] for pair in pairs})
        kept = [name for name in names if name and not name.startswith("utm_")]
        query = "&".join(f"{name}={_ANY}" for name in kept[:_MAX_PARAMETERS])
        shape = f"{shape}/{last}?{query}" if query else f"{shape}/{last}"
    else:
        shape = f"{shape}/{_ANY if last else ''}"
    return shape[:_MAX_SHAPE_CHARS]


log = structlog.get_logger()


class RecipeStage:
    """Fills a schema with the recipes of a site, and records their success."""

    engine = ExtractionEngine.RECIPE
    # Its findings depend on the recipes learned so far.
    identity = None

    def __init__(
        self,
        sandbox: ExtractionSandbox,
        book: RecipeBook,
        *,
        max_failures: int,
        count: Callable[[str], None],
    ) -> None:
        """Create the stage; `count` is called for each recipe that is tried, hits or is dropped."""
        self._sandbox = sandbox
        self._book = book
        self._max_failures = max_failures
        self._count = count

    async def find(
        self, page: LoadedPage, spec: ExtractionSpec, fields: tuple[str, ...], run: ExtractionRun
    ) -> ExtractedData:
        """Return the values of a recipe and of rules; none if no recipe holds.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
            Overloaded: too many slow pages wait already.
            CacheFailed: the database cannot be used.
        """
        nothing = ExtractedData(data=spec.fields.nothing, missing=fields)
        if page.text is None or not spec.is_schema_given:
            return nothing
        place = recipe_place_of(page, spec)
        known = await self._book.find(replace(place, owner=run.caller), limit=MAX_RECIPES)
        if not known:
            return nothing
        recipes = tuple(each.recipe for each in known)
        job = TryRecipesJob(
            page.text, page.markdown, page.content_type, page.url, spec.schema, recipes
        )
        tried = await self._sandbox.try_recipes(job)
        trials = tried.trials
        values = tried.extracted.values
        by_recipe = {v.path for v in values if v.evidence[0].method is Method.RECIPE}
        refused = {path for path, _ in spec.check.violations(tried.extracted.data)}
        if not refused.isdisjoint(by_recipe):
            # The recipe found another value than it learned.
            trials = (*trials[:-1], Trial.MISSED)
        await self._note(place, known, trials)
        if Trial.HELD not in trials or not by_recipe:
            return nothing
        if len(by_recipe) < len(tried.extracted.values):
            run.note_engine(ExtractionEngine.RULES)
        return tried.extracted

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
    """Whether a failure on a page counts against a recipe.

    A page of another shape does not count, nor does a private page against a shared recipe.
    """
    return recipe.shape == page.shape and (recipe.owner is not None or page.owner is None)


_TEACHING = (Method.MODEL, Method.CALLER)
# Learning helps only later requests, so the answer waits no longer for it.
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
        """Create the learner; `count` is called for each recipe that is learned."""
        self._sandbox = sandbox
        self._book = book
        self._limits = limits
        self._count = count

    async def learn(
        self,
        pages: Sequence[LoadedPage],
        spec: ExtractionSpec,
        found: Sequence[ExtractedData],
        run: ExtractionRun,
    ) -> None:
        """Learn recipes for values that rules alone did not find.

        A failure is only logged: the answer does not depend on it.
        """
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                for page, values in zip(pages, found, strict=True):
                    if spec.is_schema_given and is_worth_learning_from(values):
                        await self._learn_one(page, spec, values, run)
        except (TimeoutError, CinderError) as error:
            log.warning("learning failed", reason=str(error) or "it took too long")

    async def _learn_one(
        self, page: LoadedPage, spec: ExtractionSpec, found: ExtractedData, run: ExtractionRun
    ) -> None:
        if page.text is None:
            return
        job = LearnRecipeJob(
            page.text, page.markdown, page.content_type, page.url, spec.schema, found.values
        )
        recipe = await self._sandbox.learn_recipe(job)
        if not recipe.rules:
            return
        place = recipe_place_of(page, spec)
        methods = {each.method for value in found.values for each in value.evidence}
        if Method.CALLER in methods:
            # One caller's values must not affect other callers.
            place = replace(place, owner=run.caller)
        if Method.RECIPE in methods:
            # The rules of the recipe that held on this page stay.
            for known in await self._book.find(place, limit=MAX_RECIPES):
                if known.place == place:
                    recipe = known.recipe.updated_by(recipe)
                    break
        new = NewRecipe(
            place=place, summary=describe_fields(spec), recipe=recipe, learned_from=page.url
        )
        await self._book.keep(new, self._limits)
        self._count("learned")


def is_worth_learning_from(found: ExtractedData) -> bool:
    """Whether a model or a caller gave a value that is worth learning."""
    return any(
        is_worth_learning(each) and each.evidence[0].method in _TEACHING for each in found.values
    )


class LearnedRecipes:
    """Lists and deletes the recipes of all callers."""

    def __init__(self, book: RecipeBook) -> None:
        self._book = book

    async def list_recipes(
        self, site: str | None = None, *, before_id: int | None = None, limit: int = 100
    ) -> list[KeptRecipe]:
        """Return recipes of one site or of all, newest first, with ids below `before_id`."""
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


def read_site(site: str) -> str:
    """Return the site of a host or a URL."""
    try:
        return site_of(site if "://" in site else f"https://{site}")
    except ValueError:
        return site
