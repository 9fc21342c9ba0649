"""Callers' tokens, and the pages that each has used on a day."""

import json
from collections.abc import Callable
from datetime import date, datetime, timedelta

from cinder.models.caller import CallerPolicy, Token, TokenScope, sorted_scopes
from cinder.store.base import QueryObserver, TimedDatabase, TokenTaken
from cinder.store.database import Database, Query, SqlRow, Statement
from cinder.store.document_rows import from_milliseconds, to_milliseconds

MAX_LISTED = 10_000

# Of days gone by nobody asks any more.
_KEPT_DAYS = 7

_COLUMNS = "id, name, scopes, policy, created_at, last_used_at"

_ADD = """
INSERT INTO webhook.tokens (id, name, secret_hash, scopes, policy, created_at)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO NOTHING RETURNING id
"""

_FIND = f"SELECT {_COLUMNS} FROM webhook.tokens WHERE secret_hash = $1"  # noqa: S608 - columns of ours
_FIND_BY_ID = f"SELECT {_COLUMNS} FROM webhook.tokens WHERE id = $1"  # noqa: S608 - the same
_LIST = f"SELECT {_COLUMNS} FROM webhook.tokens ORDER BY name LIMIT $1"  # noqa: S608 - the same
_REMOVE = "DELETE FROM webhook.tokens WHERE name = $1 RETURNING id"
_NOTE_USE = "UPDATE webhook.tokens SET last_used_at = $2 WHERE id = $1"

_SPEND = """
INSERT INTO webhook.token_pages (token_id, day, pages) VALUES ($1, $2, 1)
ON CONFLICT (token_id, day) DO UPDATE SET pages = token_pages.pages + 1
 WHERE token_pages.pages < $3
RETURNING pages
"""

_FORGET_DAYS = "DELETE FROM webhook.token_pages WHERE token_id = $1 AND day < $2"


class StoredTokens:
    """Keeps tokens. See `cinder.store.base.TokenStore`."""

    def __init__(
        self, database: Database, *, observe: QueryObserver, clock: Callable[[], datetime]
    ) -> None:
        self._database = TimedDatabase(database, observe)
        self._clock = clock

    async def add(self, token: Token, secret_hash: str) -> None:
        """Keep a new token.

        Raises:
            TokenTaken: another has its name.
        """
        if not await self._database.write("add_token", lambda: _add(token, secret_hash)):
            raise TokenTaken(token.name)

    async def find(self, secret_hash: str) -> Token | None:
        """Return the token with this secret; None where there is none."""
        return await self._database.read("find_token", lambda: _find(_FIND, secret_hash))

    async def find_by_id(self, token_id: str) -> Token | None:
        """Return the token of this id; None where there is none, or none any more."""
        return await self._database.read("find_token", lambda: _find(_FIND_BY_ID, token_id))

    async def list_all(self) -> list[Token]:
        """Return all tokens, by name."""
        return await self._database.read("list_tokens", _list)

    async def remove(self, name: str) -> bool:
        """Delete the token of this name; False where there is none."""
        return await self._database.write("remove_token", lambda: _remove(name))

    async def note_use(self, token_id: str) -> None:
        """Note that a token has just been used."""
        now = to_milliseconds(self._clock())
        await self._database.write("note_token", lambda: _note_use(token_id, now))

    async def spend_page(self, token_id: str, day: date, most: int) -> bool:
        """Count one page to a day; False, and nothing counted, where the day has had so many."""
        if most < 1:
            return False
        return await self._database.write("spend_page", lambda: _spend(token_id, day, most))


def _add(token: Token, secret_hash: str) -> Query[bool]:
    policy = {"domains": token.policy.domains, "pagesPerDay": token.policy.pages_per_day}
    scopes = ",".join(sorted_scopes(token.scopes))
    created_at = to_milliseconds(token.created_at)
    args = (token.id, token.name, secret_hash, scopes, json.dumps(policy), created_at)
    rows = yield Statement(_ADD, args)
    return bool(rows)


def _find(sql: str, wanted: str) -> Query[Token | None]:
    rows = yield Statement(sql, (wanted,))
    return _read(rows[0]) if rows else None


def _list() -> Query[list[Token]]:
    rows = yield Statement(_LIST, (MAX_LISTED,))
    return [_read(row) for row in rows]


def _remove(name: str) -> Query[bool]:
    rows = yield Statement(_REMOVE, (name,))
    return bool(rows)


def _note_use(token_id: str, now: int) -> Query[None]:
    yield Statement(_NOTE_USE, (token_id, now))


def _spend(token_id: str, day: date, most: int) -> Query[bool]:
    rows = yield Statement(_SPEND, (token_id, day.isoformat(), most))
    if rows and rows[0]["pages"] == 1:
        oldest = day - timedelta(days=_KEPT_DAYS)
        yield Statement(_FORGET_DAYS, (token_id, oldest.isoformat()))
    return bool(rows)


def _read(row: SqlRow) -> Token:
    policy, used = json.loads(row["policy"]), row["last_used_at"]
    return Token(
        id=row["id"],
        name=row["name"],
        scopes=frozenset(map(TokenScope, row["scopes"].split(","))),
        policy=CallerPolicy(domains=tuple(policy["domains"]), pages_per_day=policy["pagesPerDay"]),
        created_at=from_milliseconds(row["created_at"]),
        last_used_at=None if used is None else from_milliseconds(used),
    )
