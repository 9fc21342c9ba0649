"""API tokens, and the pages that each has used on a day."""

import json
from datetime import date, timedelta

from cinder.models.caller import CallerPolicy, Token, TokenScope, sorted_scopes
from cinder.store.database import (
    Query,
    Repository,
    SqlRow,
    Statement,
    from_milliseconds,
    reads,
    to_milliseconds,
    writes,
)

MAX_TOKENS = 10_000

# How long the page counts of past days are kept.
_KEPT_DAYS = 7

_FIND = "SELECT id, name, scopes, policy, created_at, last_used_at FROM webhook.tokens"

_ADD = """
INSERT INTO webhook.tokens (id, name, secret_hash, scopes, policy, created_at)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO NOTHING RETURNING id
"""

_SPEND = """
INSERT INTO webhook.token_pages (token_id, day, pages) VALUES ($1, $2, 1)
ON CONFLICT (token_id, day) DO UPDATE SET pages = token_pages.pages + 1
 WHERE token_pages.pages < $3
RETURNING pages
"""


class TokenTaken(ValueError):
    """There is a token of this name already."""


class TokenStore(Repository):
    """Stores tokens by the hash of their secret."""

    @writes("add_token")
    def add(self, token: Token, secret_hash: str) -> Query[None]:
        """Store a new token.

        Raises:
            TokenTaken: another token has its name.
        """
        policy = {"domains": token.policy.domains, "pagesPerDay": token.policy.pages_per_day}
        scopes = ",".join(sorted_scopes(token.scopes))
        created_at = to_milliseconds(token.created_at)
        args = (token.id, token.name, secret_hash, scopes, json.dumps(policy), created_at)
        rows = yield Statement(_ADD, args)
        if not rows:
            raise TokenTaken(token.name)

    @reads("find_token")
    def find(self, secret_hash: str) -> Query[Token | None]:
        """Return the token with this secret; None where there is none."""
        rows = yield Statement(f"{_FIND} WHERE secret_hash = $1", (secret_hash,))
        return _decode(rows[0]) if rows else None

    @reads("find_token")
    def find_by_id(self, token_id: str) -> Query[Token | None]:
        """Return the token of this id; None where there is none, or none any more."""
        rows = yield Statement(f"{_FIND} WHERE id = $1", (token_id,))
        return _decode(rows[0]) if rows else None

    @reads("list_tokens")
    def list_all(self) -> Query[list[Token]]:
        """Return all tokens, by name."""
        rows = yield Statement(f"{_FIND} ORDER BY name LIMIT $1", (MAX_TOKENS,))
        return [_decode(row) for row in rows]

    @writes("remove_token")
    def remove(self, name: str) -> Query[bool]:
        """Delete the token of this name; False where there is none."""
        rows = yield Statement("DELETE FROM webhook.tokens WHERE name = $1 RETURNING id", (name,))
        return bool(rows)

    @writes("note_token")
    def note_use(self, token_id: str) -> Query[None]:
        """Record that a token has just been used."""
        sql = "UPDATE webhook.tokens SET last_used_at = $2 WHERE id = $1"
        yield Statement(sql, (token_id, self._now()))

    @writes("spend_page")
    def spend_page(self, token_id: str, day: date, most: int) -> Query[bool]:
        """Count one page on a day; False, with nothing counted, where the day has that many."""
        if most < 1:
            return False
        rows = yield Statement(_SPEND, (token_id, day.isoformat(), most))
        if rows and rows[0]["pages"] == 1:
            oldest = (day - timedelta(days=_KEPT_DAYS)).isoformat()
            sql = "DELETE FROM webhook.token_pages WHERE token_id = $1 AND day < $2"
            yield Statement(sql, (token_id, oldest))
        return bool(rows)


def _decode(row: SqlRow) -> Token:
    policy, used = json.loads(row["policy"]), row["last_used_at"]
    return Token(
        id=row["id"],
        name=row["name"],
        scopes=frozenset(map(TokenScope, row["scopes"].split(","))),
        policy=CallerPolicy(domains=tuple(policy["domains"]), pages_per_day=policy["pagesPerDay"]),
        created_at=from_milliseconds(row["created_at"]),
        last_used_at=None if used is None else from_milliseconds(used),
    )
