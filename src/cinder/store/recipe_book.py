"""Stored extraction recipes: one per site and page shape, deleted when they keep failing."""

import json
from dataclasses import dataclass
from datetime import timedelta

from cinder.errors import CacheFailed
from cinder.models.recipe import KeptRecipe, Recipe, RecipePlace, recipe_from_json, recipe_to_json
from cinder.store.database import (
    MAX_ID,
    Query,
    Repository,
    SqlDialect,
    SqlRow,
    Statement,
    clamp_limit,
    fingerprint,
    from_milliseconds,
    reads,
    scrub,
    to_milliseconds,
    writes,
)

_COLUMNS = (
    "id, site, shape, wish, owner, created_at, used_at, uses, successes, failures, learned_from, "
    "summary, rules"
)

_FIND = f"""
SELECT {_COLUMNS} FROM webhook.recipes
 WHERE wish = $1 AND site = $2 AND (owner IS NULL OR owner = $3)
 ORDER BY CASE WHEN shape = $4 THEN 0 ELSE 1 END, CASE WHEN owner IS NULL THEN 1 ELSE 0 END,
       failures, used_at DESC, id DESC LIMIT $5
"""  # noqa: S608 - constant columns

# A recipe that is learned again has not failed yet; its age and its uses stay.
_KEEP = f"""
INSERT INTO webhook.recipes (
    place_hash, site, shape, wish, owner, created_at, used_at, learned_from, summary, rules)
VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9)
ON CONFLICT (place_hash) DO UPDATE SET used_at = excluded.used_at, failures = 0,
    learned_from = excluded.learned_from, summary = excluded.summary, rules = excluded.rules
RETURNING {_COLUMNS}
"""  # noqa: S608 - the same

_DELETE_BEYOND = """
DELETE FROM webhook.recipes WHERE id IN (
    SELECT id FROM webhook.recipes ORDER BY used_at DESC, id DESC LIMIT 1000 OFFSET $1)
"""

_SUCCEEDED = """
UPDATE webhook.recipes SET used_at = $2, uses = uses + 1, successes = successes + 1, failures = 0
 WHERE id = $1
"""

_FAILED = """
UPDATE webhook.recipes SET used_at = $2, uses = uses + 1, failures = failures + 1
 WHERE id = $1 RETURNING failures
"""

_LIST = f"""
SELECT {_COLUMNS} FROM webhook.recipes WHERE id < $1 AND ($2 = '' OR site = $2)
 ORDER BY id DESC LIMIT $3
"""  # noqa: S608 - the same

_FIND_ONE = f"SELECT {_COLUMNS} FROM webhook.recipes WHERE id = $1"  # noqa: S608 - the same

_DELETE = "DELETE FROM webhook.recipes WHERE id = $1 RETURNING id"

_DELETE_SITE = "DELETE FROM webhook.recipes WHERE $1 = '' OR site = $1 RETURNING id"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecipe:
    """A recipe to be stored."""

    place: RecipePlace
    summary: str
    recipe: Recipe
    learned_from: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeLimits:
    """How many recipes are kept, and how many days after their last use."""

    most: int
    days: int


class RecipeBook(Repository):
    """Stores recipes."""

    @reads("find_recipes")
    def find(self, place: RecipePlace, *, limit: int) -> Query[list[KeptRecipe]]:
        """Return the recipes for a schema on a site that the place's owner may use.

        Those for pages of its shape come first, the owner's before shared ones, then the last used.
        Without an owner, only shared recipes are found.
        """
        owner = None if place.owner is None else scrub(place.owner)
        args = (place.wish, scrub(place.site), owner, scrub(place.shape), limit)
        rows = yield Statement(_FIND, args)
        return [_decode(row, self._dialect) for row in rows]

    @writes("keep_recipe")
    def keep(self, new: NewRecipe, limits: RecipeLimits) -> Query[KeptRecipe]:
        """Store a recipe in place of the one for the same pages; delete those beyond the limits."""
        place, now = new.place, self._clock()
        owner = None if place.owner is None else scrub(place.owner)
        rules = self._dialect.pack_text(scrub(json.dumps(recipe_to_json(new.recipe))))
        key = json.dumps([place.site, place.shape, place.wish, place.owner])
        where = (fingerprint(key), scrub(place.site), scrub(place.shape), place.wish, owner)
        what = (to_milliseconds(now), scrub(new.learned_from), scrub(new.summary), rules)
        rows = yield Statement(_KEEP, (*where, *what))
        oldest = to_milliseconds(now - timedelta(days=limits.days))
        yield Statement("DELETE FROM webhook.recipes WHERE used_at < $1", (oldest,))
        yield Statement(_DELETE_BEYOND, (limits.most,))
        return _decode(rows[0], self._dialect)

    @writes("note_recipe")
    def note_success(self, recipe_id: int) -> Query[None]:
        """Record that a recipe held on a page: its next failure is the first in a row."""
        yield Statement(_SUCCEEDED, (recipe_id, self._now()))

    @writes("note_recipe")
    def note_failure(self, recipe_id: int, most: int) -> Query[bool]:
        """Record that a recipe failed on a page; delete it after so many in a row: True."""
        rows = yield Statement(_FAILED, (recipe_id, self._now()))
        if not rows or rows[0]["failures"] < most:
            return False
        yield Statement(_DELETE, (recipe_id,))
        return True

    @reads("list_recipes")
    def list_recipes(
        self, site: str | None = None, *, before_id: int | None = None, limit: int = 100
    ) -> Query[list[KeptRecipe]]:
        """Return the recipes of all owners, newest first, of one site or of all.

        At most 1,000 at once, whatever the limit.
        """
        before = MAX_ID if before_id is None else before_id
        rows = yield Statement(_LIST, (before, scrub(site or ""), clamp_limit(limit)))
        return [_decode(row, self._dialect) for row in rows]

    @reads("find_recipe")
    def find_recipe(self, recipe_id: int) -> Query[KeptRecipe | None]:
        """Return a recipe of any owner."""
        rows = yield Statement(_FIND_ONE, (recipe_id,))
        return _decode(rows[0], self._dialect) if rows else None

    @writes("delete_recipe")
    def delete(self, recipe_id: int) -> Query[bool]:
        """Delete a recipe; False if there is none."""
        rows = yield Statement(_DELETE, (recipe_id,))
        return bool(rows)

    @writes("delete_recipes")
    def delete_site(self, site: str | None) -> Query[int]:
        """Delete the recipes of a site, or all; return how many."""
        rows = yield Statement(_DELETE_SITE, (scrub(site or ""),))
        return len(rows)


def _decode(row: SqlRow, dialect: SqlDialect) -> KeptRecipe:
    try:
        recipe = recipe_from_json(json.loads(dialect.unpack_text(row["rules"])))
    except ValueError as exc:
        raise CacheFailed(
            f"Recipe {row['id']} of {row['site']} cannot be read, most likely because another "
            f"version of cinder wrote it: delete it with `cinder recipe delete {row['id']}`"
        ) from exc
    return KeptRecipe(
        id=row["id"],
        place=RecipePlace(
            site=row["site"], shape=row["shape"], wish=row["wish"], owner=row["owner"]
        ),
        summary=row["summary"],
        recipe=recipe,
        learned_from=row["learned_from"],
        created_at=from_milliseconds(row["created_at"]),
        used_at=from_milliseconds(row["used_at"]),
        uses=row["uses"],
        successes=row["successes"],
        failures=row["failures"],
    )
