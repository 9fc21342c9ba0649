"""Learning: after an extraction, where its proved values stand is kept for the site's next page."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import structlog

from cinder.errors import CinderError
from cinder.extract.recipes.learning import is_worth_learning
from cinder.extract.recipes.tried import MAX_RECIPES
from cinder.model.extracted_data import ExtractedData, Method
from cinder.model.recipe import Recipe, RecipePlace
from cinder.services.extraction.recipe_places import describe_wish, place_of
from cinder.services.extraction.stages import ReadPage, Run, Wish
from cinder.services.sandbox.sandbox import ExtractionSandbox
from cinder.store.recipe_base import NewRecipe, RecipeBook, RecipeLimits

_TEACHING = (Method.MODEL, Method.CALLER)
# An answer waits no longer for what only later ones profit from.
_MOST_SECONDS = 3.0

log = structlog.get_logger()


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
        self, pages: Sequence[ReadPage], wish: Wish, found: Sequence[ExtractedData], run: Run
    ) -> None:
        """Keep where pages hold what was found on each, if rules alone did not find it.

        What cannot be learned is only logged: the answer does not depend on it.
        """
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                for page, values in zip(pages, found, strict=True):
                    if wish.is_schema_given and is_lesson(values):
                        await self._learn_one(page, wish, values, run)
        except (TimeoutError, CinderError) as error:
            log.warning("learning failed", reason=str(error) or "it took too long")

    async def _learn_one(self, page: ReadPage, wish: Wish, found: ExtractedData, run: Run) -> None:
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
        place = place_of(page, wish)
        if Method.CALLER in _methods(found):
            # What one caller says is none of the others' business.
            place = replace(place, owner=run.caller)
        if Method.RECIPE in _methods(found):
            recipe = await self._updated(place, recipe)
        new = NewRecipe(
            place=place, summary=describe_wish(wish), recipe=recipe, learned_from=page.url
        )
        await self._book.keep(new, self._limits)
        self._count("learned")

    async def _updated(self, place: RecipePlace, recipe: Recipe) -> Recipe:
        """Return a recipe with what the one that held on this page knows besides."""
        for known in await self._book.find(place, limit=MAX_RECIPES):
            if known.place == place:
                return known.recipe.updated_by(recipe)
        return recipe


def is_lesson(found: ExtractedData) -> bool:
    """Whether findings hold what neither rules nor a recipe gave, and a page proves it."""
    return any(
        is_worth_learning(each) and each.evidence[0].method in _TEACHING for each in found.values
    )


def _methods(found: ExtractedData) -> set[Method]:
    return {each.method for value in found.values for each in value.evidence}
