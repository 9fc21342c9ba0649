"""Recipes as rows: kept one to a place, found by who may use them, forgotten when they fail."""

import json

from cinder.errors import CacheFailed
from cinder.model.recipe import (
    KeptRecipe,
    Recipe,
    RecipePlace,
    recipe_from_json,
    recipe_to_json,
)
from cinder.store.codec import from_milliseconds
from cinder.store.dialect import Dialect, fingerprint, scrub
from cinder.store.procedure import Procedure, Row, Statement
from cinder.store.recipe_base import NewRecipe

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


def find_recipes(place: RecipePlace, limit: int, dialect: Dialect) -> Procedure[list[KeptRecipe]]:
    """Return the recipes for a wish on a site that the place's owner may use."""
    owner = None if place.owner is None else scrub(place.owner)
    args = (place.wish, scrub(place.site), owner, scrub(place.shape), limit)
    rows = yield Statement(_FIND, args)
    return [_read_recipe(row, dialect) for row in rows]


def keep_recipe(new: NewRecipe, now: int, dialect: Dialect) -> Procedure[KeptRecipe]:
    """Keep a recipe, over the one of its place."""
    place = new.place
    owner = None if place.owner is None else scrub(place.owner)
    rules = dialect.pack_text(scrub(json.dumps(recipe_to_json(new.recipe))))
    key = json.dumps([place.site, place.shape, place.wish, place.owner])
    where = (fingerprint(key), scrub(place.site), scrub(place.shape), place.wish, owner)
    rows = yield Statement(_KEEP, (*where, now, scrub(new.learned_from), scrub(new.summary), rules))
    return _read_recipe(rows[0], dialect)


def forget_beyond(most: int, since: int) -> Procedure[None]:
    """Delete the recipes that were not tried since a moment, and those beyond a number."""
    yield Statement(_FORGET_OLD, (since,))
    yield Statement(_FORGET_BEYOND, (most,))


def note_success(recipe_id: int, now: int) -> Procedure[None]:
    """Note that a recipe held."""
    yield Statement(_SUCCEEDED, (recipe_id, now))


def note_failure(recipe_id: int, most: int, now: int) -> Procedure[bool]:
    """Note that a recipe failed; delete it for so many failures in a row, and tell."""
    rows = yield Statement(_FAILED, (recipe_id, now))
    if not rows or rows[0]["failures"] < most:
        return False
    yield Statement(_DELETE, (recipe_id,))
    return True


def list_recipes(
    site: str | None, before_id: int, limit: int, dialect: Dialect
) -> Procedure[list[KeptRecipe]]:
    """Return recipes, newest first, from below an id."""
    rows = yield Statement(_LIST, (before_id, scrub(site or ""), limit))
    return [_read_recipe(row, dialect) for row in rows]


def find_recipe(recipe_id: int, dialect: Dialect) -> Procedure[KeptRecipe | None]:
    """Return one recipe."""
    rows = yield Statement(_FIND_ONE, (recipe_id,))
    return _read_recipe(rows[0], dialect) if rows else None


def delete_recipe(recipe_id: int) -> Procedure[bool]:
    """Delete one recipe."""
    rows = yield Statement(_DELETE, (recipe_id,))
    return bool(rows)


def delete_site(site: str | None) -> Procedure[int]:
    """Delete the recipes of a site, or all."""
    rows = yield Statement(_DELETE_SITE, (scrub(site or ""),))
    return len(rows)


def _read_recipe(row: Row, dialect: Dialect) -> KeptRecipe:
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


def _read_rules(row: Row, dialect: Dialect) -> Recipe:
    try:
        return recipe_from_json(json.loads(dialect.unpack_text(row["rules"])))
    except ValueError as exc:
        raise CacheFailed(
            f"Recipe {row['id']} of {row['site']} cannot be read, most likely because another "
            f"version of cinder wrote it: delete it with `cinder recipe delete {row['id']}`"
        ) from exc
