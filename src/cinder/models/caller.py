"""Callers: their tokens, the scopes of a token, and its limits."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from cinder.errors import Forbidden
from cinder.models.request import OWNER
from cinder.models.url import host_and_port, is_within


class TokenScope(StrEnum):
    """What a token gives access to."""

    READ = "read"
    """Saved pages, and the status of the caller's own jobs."""
    SCRAPE = "scrape"
    """Scraping single pages, and searching."""
    CRAWL = "crawl"
    """Starting and stopping crawls and batches."""
    ADMIN = "admin"
    """All of these, and the administration of the server."""


EVERYDAY_SCOPES = (TokenScope.READ, TokenScope.SCRAPE, TokenScope.CRAWL)

OAUTH_ID_PREFIX = "oauth_"
"""The prefix of the ids of callers whose tokens an authorization server issued."""

OAUTH_METADATA_PATH = "/.well-known/oauth-protected-resource"
"""Where clients find what this server accepts tokens for, by RFC 9728."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerPolicy:
    """The limits of a token."""

    domains: tuple[str, ...] = ()
    """The only domains, with their subdomains, that the caller may fetch, read saved pages of and
    send webhooks to; empty for all."""
    pages_per_day: int | None = None
    """Pages that may be fetched from the web in one day (UTC); None for no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A client with a valid token."""

    id: str
    scopes: frozenset[TokenScope]
    policy: CallerPolicy = field(default_factory=CallerPolicy)

    def may(self, scope: TokenScope) -> bool:
        """Whether the token grants a scope."""
        return scope in self.scopes or TokenScope.ADMIN in self.scopes


OWNER_CALLER = Caller(id=OWNER, scopes=frozenset(TokenScope))
"""The person who runs cinder: the command line, MCP over stdio, and the token of the settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token as its owner sees it: everything but the secret, which is not stored."""

    id: str
    name: str
    scopes: frozenset[TokenScope]
    policy: CallerPolicy
    created_at: datetime
    last_used_at: datetime | None = None

    @property
    def caller(self) -> Caller:
        """The caller that the token identifies."""
        return Caller(id=self.id, scopes=self.scopes, policy=self.policy)


def sorted_scopes(scopes: Collection[TokenScope]) -> list[TokenScope]:
    """Return scopes in the order of `TokenScope`."""
    return [scope for scope in TokenScope if scope in scopes]


def require_domain(policy: CallerPolicy, url: str) -> None:
    """Return if the policy allows pages of this URL's host.

    Raises:
        Forbidden: the token is for other hosts.
    """
    if not is_url_within(url, policy.domains):
        host, _ = host_and_port(url)
        allowed = ", ".join(policy.domains)
        raise Forbidden(f"This token may not fetch from {host}, only from {allowed}.", url=url)


def is_url_within(url: str, domains: tuple[str, ...]) -> bool:
    """Whether a page is of one of the domains; no domains allow all pages."""
    return not domains or is_within(host_and_port(url)[0], domains)


def is_place_within(place: str, domains: tuple[str, ...]) -> bool:
    """Whether a page's path within `scrape://` is of one of the domains."""
    if not domains:
        return True
    try:
        return is_url_within(f"https://{place}", domains)
    except ValueError:
        return False
