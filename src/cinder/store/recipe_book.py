"""Stored extraction recipes: one per site and page shape, dropped when they fail."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta

from cinder.errors import CacheFailed
from cinder.models.recipe import KeptRecipe, Recipe, RecipePlace, recipe_from_json, recipe_to_json
from cinder.store.base import NewRecipe, QueryObserver, RecipeLimits, TimedDatabase
from cinder.store.database import Database, Query, SqlDialect, SqlRow, Statement, fingerprint, scrub
from cinder.store.document_rows import from_milliseconds, to_milliseconds

_COLUMNS = (
    "id, site, shape, wish, owner, created_at, used_at, uses, successes, failures, learned_from, "
    "summary, rules"
)

_FIND = f"""
SELECT {_COLUMNS} FROM webhook.recipes
 WHERE wish = $1 AND site = $2 AND (owner IS NULL OR owner = $3)
 ORDER BY CASE WHEN shape = $4 THEN 0 ELSE 1 END, CASE WHEN owner IS NULL THEN 1 ELSE 0 END,
       failures, used_at DESC, id DESC LIMIT $5
"""  # noqa: S608 - columns of ours

# What was learned anew has not failed yet; its age and its past stay.
_KEEP = f"""
INSERT INTO webhook.recipes (
    place_hash, site, shape, wish, owner, created_at, used_at, learned_from, summary, rules)
VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9)
ON CONFLICT (place_hash) DO UPDATE SET used_at = excluded.used_at, failures = 0,
    learned_from = excluded.learned_from, summary = excluded.summary, rules = excluded.rules
RETURNING {_COLUMNS}
"""  # noqa: S608 - the same

_FORGET_OLD = "DELETE FROM webhook.recipes WHERE used_at < $1"

_FORGET_BEYOND = """
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


def find_recipes(place: RecipePlace, limit: int, dialect: SqlDialect) -> Query[list[KeptRecipe]]:
    """Return the recipes for a wish on a site that the place's owner may use."""
    owner = None if place.owner is None else scrub(place.owner)
    args = (place.wish, scrub(place.site), owner, scrub(place.shape), limit)
    rows = yield Statement(_FIND, args)
    return [_read_recipe(row, dialect) for row in rows]


def keep_recipe(new: NewRecipe, now: int, dialect: SqlDialect) -> Query[KeptRecipe]:
    """Keep a recipe, over the one of its place."""
    place = new.place
    owner = None if place.owner is None else scrub(place.owner)
    rules = dialect.pack_text(scrub(json.dumps(recipe_to_json(new.recipe))))
    key = json.dumps([place.site, place.shape, place.wish, place.owner])
    where = (fingerprint(key), scrub(place.site), scrub(place.shape), place.wish, owner)
    rows = yield Statement(_KEEP, (*where, now, scrub(new.learned_from), scrub(new.summary), rules))
    return _read_recipe(rows[0], dialect)


def forget_beyond(most: int, since: int) -> Query[None]:
    """Delete the recipes that were not tried since a moment, and those beyond a number."""
    yield Statement(_FORGET_OLD, (since,))
    yield Statement(_FORGET_BEYOND, (most,))


def note_success(recipe_id: int, now: int) -> Query[None]:
    """Note that a recipe held."""
    yield Statement(_SUCCEEDED, (recipe_id, now))


def note_failure(recipe_id: int, most: int, now: int) -> Query[bool]:
    """Note that a recipe failed; delete it for so many failures in a row, and tell."""
    rows = yield Statement(_FAILED, (recipe_id, now))
    if not rows or rows[0]["failures"] < most:
        return False
    yield Statement(_DELETE, (recipe_id,))
    return True


def list_recipes(
    site: str | None, before_id: int, limit: int, dialect: SqlDialect
) -> Query[list[KeptRecipe]]:
    """Return recipes, newest first, from below an id."""
    rows = yield Statement(_LIST, (before_id, scrub(site or ""), limit))
    return [_read_recipe(row, dialect) for row in rows]


def find_recipe(recipe_id: int, dialect: SqlDialect) -> Query[KeptRecipe | None]:
    """Return one recipe."""
    rows = yield Statement(_FIND_ONE, (recipe_id,))
    return _read_recipe(rows[0], dialect) if rows else None


def delete_recipe(recipe_id: int) -> Query[bool]:
    """Delete one recipe."""
    rows = yield Statement(_DELETE, (recipe_id,))
    return bool(rows)


def delete_site(site: str | None) -> Query[int]:
    """Delete the recipes of a site, or all."""
    rows = yield Statement(_DELETE_SITE, (scrub(site or ""),))
    return len(rows)


def _read_recipe(row: SqlRow, dialect: SqlDialect) -> KeptRecipe:
    return KeptRecipe(
        id=row["id"],
        place=RecipePlace(
            site=row["site"], shape=row["shape"], wish=row["wish"], owner=row["owner"]
        ),
        summary=row["summary"],
        recipe=_read_rules(row, dialect),
        learned_from=row["learned_from"],
        created_at=from_milliseconds(row["created_at"]),
        used_at=from_milliseconds(row["used_at"]),
        uses=row["uses"],
        successes=row["successes"],
        failures=row["failures"],
    )


def _read_rules(row: SqlRow, dialect: SqlDialect) -> Recipe:
    try:
        return recipe_from_json(json.loads(dialect.unpack_text(row["rules"])))
    except ValueError as exc:
        raise CacheFailed(
            f"Recipe {row['id']} of {row['site']} cannot be read, most likely because another "
            f"version of cinder wrote it: delete it with `cinder recipe delete {row['id']}`"
        ) from exc


MAX_ID = 2**63 - 1
MAX_LISTED = 1000


class StoredRecipeBook:
    """Keeps recipes in a database. See `cinder.store.base.RecipeBook`."""

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
            "find_recipes", lambda: find_recipes(place, limit, self._dialect)
        )

    async def keep(self, new: NewRecipe, limits: RecipeLimits) -> KeptRecipe:
        """Keep a recipe, over the one of its place; those beyond the limits go."""
        return await self._database.write("keep_recipe", lambda: self._keep(new, limits))

    async def note_success(self, recipe_id: int) -> None:
        """Note that a recipe held on a page: its next failure is the first in a row."""
        now = to_milliseconds(self._clock())
        await self._database.write("note_recipe", lambda: note_success(recipe_id, now))

    async def note_failure(self, recipe_id: int, most: int) -> bool:
        """Note that a recipe failed on a page; True if it is deleted, for so many in a row."""
        now = to_milliseconds(self._clock())
        return await self._database.write("note_recipe", lambda: note_failure(recipe_id, most, now))

    async def list_recipes(
        self, site: str | None = None, *, before_id: int | None = None, limit: int = 100
    ) -> list[KeptRecipe]:
        """Return recipes as an operator sees them, whosever they are: newest first, of one site.

        At most 1,000 at once, whatever the limit.
        """
        before = MAX_ID if before_id is None else before_id
        count = max(0, min(limit, MAX_LISTED))
        return await self._database.read(
            "list_recipes", lambda: list_recipes(site, before, count, self._dialect)
        )

    async def find_recipe(self, recipe_id: int) -> KeptRecipe | None:
        """Return a recipe as an operator sees it."""
        return await self._database.read(
            "find_recipe", lambda: find_recipe(recipe_id, self._dialect)
        )

    async def delete(self, recipe_id: int) -> bool:
        """Delete a recipe; False if there is none."""
        return await self._database.write("delete_recipe", lambda: delete_recipe(recipe_id))

    async def delete_site(self, site: str | None) -> int:
        """Delete the recipes of a site, or all; return how many."""
        return await self._database.write("delete_recipes", lambda: delete_site(site))

    def _keep(self, new: NewRecipe, limits: RecipeLimits) -> Query[KeptRecipe]:
        now = self._clock()
        since = to_milliseconds(now - timedelta(days=limits.days))
        kept = yield from keep_recipe(new, to_milliseconds(now), self._dialect)
        yield from forget_beyond(limits.most, since)
        return kept
