"""Callers: their tokens, the scopes of a token, and its limits."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from cinder.models.request import OWNER


class TokenScope(StrEnum):
    """What a token opens."""

    READ = "read"
    """Saved pages, and how the caller's own jobs go."""
    SCRAPE = "scrape"
    """Fetching pages, one at a time, and searching."""
    CRAWL = "crawl"
    """Starting and stopping crawls and batches."""
    ADMIN = "admin"
    """All of that, and what only those who run the server see."""


EVERYDAY_SCOPES = (TokenScope.READ, TokenScope.SCRAPE, TokenScope.CRAWL)

OAUTH_ID_PREFIX = "oauth_"
"""How the ids of callers begin whose tokens an authorization server made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerPolicy:
    """How far a token goes."""

    domains: tuple[str, ...] = ()
    """The only hosts, those beneath them included, that pages are fetched from, that kept pages are
    read of, and that webhooks go to; empty for all."""
    pages_per_day: int | None = None
    """Pages that are fetched from the web within one day (UTC); None for any number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Somebody whose token was found to be right."""

    id: str
    scopes: frozenset[TokenScope]
    policy: CallerPolicy = field(default_factory=CallerPolicy)

    def may(self, scope: TokenScope) -> bool:
        """Whether his token opens that."""
        return scope in self.scopes or TokenScope.ADMIN in self.scopes


OWNER_CALLER = Caller(id=OWNER, scopes=frozenset(TokenScope))
"""Whoever runs cinder: the command line, MCP over stdio, and the token of the settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token as its owner sees it: everything but the secret, which nobody keeps."""

    id: str
    name: str
    scopes: frozenset[TokenScope]
    policy: CallerPolicy
    created_at: datetime
    last_used_at: datetime | None = None

    @property
    def caller(self) -> Caller:
        """Who sends it."""
        return Caller(id=self.id, scopes=self.scopes, policy=self.policy)


def sorted_scopes(scopes: Collection[TokenScope]) -> list[TokenScope]:
    """Return scopes in the order in which they are listed."""
    return [scope for scope in TokenScope if scope in scopes]
