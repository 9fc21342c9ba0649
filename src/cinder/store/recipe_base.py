"""The recipe book's protocol: what was learned of sites, whichever database keeps it."""

from dataclasses import dataclass
from typing import Protocol

from cinder.model.recipe import KeptRecipe, Recipe, RecipePlace


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecipe:
    """A recipe to be kept."""

    place: RecipePlace
    summary: str
    recipe: Recipe
    learned_from: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeLimits:
    """How many recipes are kept, and how long after they were last tried."""

    most: int
    days: int


class RecipeBook(Protocol):
    """Keeps recipes.

    Every method may raise `cinder.errors.CacheFailed`.
    """

    async def find(self, place: RecipePlace, *, limit: int) -> list[KeptRecipe]:
        """Return the recipes for a wish on a site that the place's owner may use.

        Those for pages of its shape come first, one's own before everybody's, then those that
        were tried last. Without an owner, only what is everybody's.
        """
        ...

    async def keep(self, new: NewRecipe, limits: RecipeLimits) -> KeptRecipe:
        """Keep a recipe, over the one of its place; those beyond the limits go."""
        ...

    async def note_success(self, recipe_id: int) -> None:
        """Note that a recipe held on a page: its next failure is the first in a row."""
        ...

    async def note_failure(self, recipe_id: int, most: int) -> bool:
        """Note that a recipe failed on a page; True if it is deleted, for so many in a row."""
        ...

    async def list_recipes(
        self, site: str | None = None, *, before_id: int | None = None, limit: int = 100
    ) -> list[KeptRecipe]:
        """Return recipes as an operator sees them, whosever they are: newest first, of one site.

        At most 1,000 at once, whatever the limit.
        """
        ...

    async def find_recipe(self, recipe_id: int) -> KeptRecipe | None:
        """Return a recipe as an operator sees it."""
        ...

    async def delete(self, recipe_id: int) -> bool:
        """Delete a recipe; False if there is none."""
        ...

    async def delete_site(self, site: str | None) -> int:
        """Delete the recipes of a site, or all; return how many."""
        ...
