"""The recipe book itself: every operation, timed, over whichever database runs it."""

from collections.abc import Callable
from datetime import datetime, timedelta

from cinder.model.recipe import KeptRecipe, RecipePlace
from cinder.store.base import QueryObserver
from cinder.store.codec import to_milliseconds
from cinder.store.database import Database
from cinder.store.procedure import Procedure
from cinder.store.recipe_base import NewRecipe, RecipeLimits
from cinder.store.recipes import rows
from cinder.store.timed import TimedDatabase

MAX_ID = 2**63 - 1
MAX_LISTED = 1000


class StoredRecipeBook:
    """Keeps recipes in a database. See `cinder.store.recipe_base.RecipeBook`."""

    def __init__(
        self, database: Database, *, observe: QueryObserver, clock: Callable[[], datetime]
    ) -> None:
        self._database = TimedDatabase(database, observe)
        self._dialect = database.dialect
        self._clock = clock

    async def find(self, place: RecipePlace, *, limit: int) -> list[KeptRecipe]:
        """Return the recipes for a wish on a site that the place's owner may use.

        Those for pages of its shape come first, one's own before everybody's, then those that
        were tried last. Without an owner, only what is everybody's.
        """
        return await self._database.read(
            "find_recipes", lambda: rows.find_recipes(place, limit, self._dialect)
        )

    async def keep(self, new: NewRecipe, limits: RecipeLimits) -> KeptRecipe:
        """Keep a recipe, over the one of its place; those beyond the limits go."""
        return await self._database.write("keep_recipe", lambda: self._keep(new, limits))

    async def note_success(self, recipe_id: int) -> None:
        """Note that a recipe held on a page: its next failure is the first in a row."""
        now = to_milliseconds(self._clock())
        await self._database.write("note_recipe", lambda: rows.note_success(recipe_id, now))

    async def note_failure(self, recipe_id: int, most: int) -> bool:
        """Note that a recipe failed on a page; True if it is deleted, for so many in a row."""
        now = to_milliseconds(self._clock())
        return await self._database.write(
            "note_recipe", lambda: rows.note_failure(recipe_id, most, now)
        )

    async def list_recipes(
        self, site: str | None = None, *, before_id: int | None = None, limit: int = 100
    ) -> list[KeptRecipe]:
        """Return recipes as an operator sees them, whosever they are: newest first, of one site.

        At most 1,000 at once, whatever the limit.
        """
        before = MAX_ID if before_id is None else before_id
        count = max(0, min(limit, MAX_LISTED))
        return await self._database.read(
            "list_recipes", lambda: rows.list_recipes(site, before, count, self._dialect)
        )

    async def find_recipe(self, recipe_id: int) -> KeptRecipe | None:
        """Return a recipe as an operator sees it."""
        return await self._database.read(
            "find_recipe", lambda: rows.find_recipe(recipe_id, self._dialect)
        )

    async def delete(self, recipe_id: int) -> bool:
        """Delete a recipe; False if there is none."""
        return await self._database.write("delete_recipe", lambda: rows.delete_recipe(recipe_id))

    async def delete_site(self, site: str | None) -> int:
        """Delete the recipes of a site, or all; return how many."""
        return await self._database.write("delete_recipes", lambda: rows.delete_site(site))

    def _keep(self, new: NewRecipe, limits: RecipeLimits) -> Procedure[KeptRecipe]:
        now = self._clock()
        since = to_milliseconds(now - timedelta(days=limits.days))
        kept = yield from rows.keep_recipe(new, to_milliseconds(now), self._dialect)
        yield from rows.forget_beyond(limits.most, since)
        return kept
