"""Learned recipes, for whoever runs cinder to look at and to delete."""

from collections.abc import Sequence

from cinder.model.recipe import KeptRecipe
from cinder.services.extraction.recipe_places import site_of
from cinder.store.recipe_base import RecipeBook


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
