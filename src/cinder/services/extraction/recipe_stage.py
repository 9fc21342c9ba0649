"""The stage of recipes: what was learned of a site is tried before anything else."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import structlog

from cinder.extract.recipes.tried import MAX_RECIPES, TriedRecipes
from cinder.model.extract import Engine
from cinder.model.extracted_data import ExtractedData, Method, Path
from cinder.model.recipe import KeptRecipe, RecipePlace, Trial
from cinder.services.extraction.recipe_places import place_of
from cinder.services.extraction.stages import ReadPage, Run, Wish
from cinder.services.sandbox.sandbox import ExtractionSandbox
from cinder.store.recipe_base import RecipeBook

log = structlog.get_logger()


class RecipeStage:
    """Fills a schema by the recipes of a site, and notes how they fared."""

    engine = Engine.RECIPE
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
        self, page: ReadPage, wish: Wish, fields: tuple[str, ...], run: Run
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
        place = place_of(page, wish)
        known = await self._book.find(replace(place, owner=run.caller), limit=MAX_RECIPES)
        if not known:
            return nothing
        tried = await self._try(page.text, page, wish, known)
        await self._note(place, known, tried.trials)
        by_recipe = _by_recipe(tried.extracted)
        if Trial.HELD not in tried.trials or not by_recipe:
            return nothing
        if len(by_recipe) < len(tried.extracted.values):
            run.note_engine(Engine.RULES)
        return tried.extracted

    async def _try(
        self, text: str, page: ReadPage, wish: Wish, known: Sequence[KeptRecipe]
    ) -> TriedRecipes:
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
            return TriedRecipes(tried.extracted, (*tried.trials[:-1], Trial.MISSED))
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


def _by_recipe(found: ExtractedData) -> set[Path]:
    """Return where the values stand that a recipe gave."""
    return {each.path for each in found.values if each.evidence[0].method is Method.RECIPE}
