"""Queries providers within time limits, tracks their health, and searches the local index."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.errors import CinderError
from cinder.metrics import Metrics
from cinder.models.saved import Version
from cinder.models.search import LOCAL, SearchHit
from cinder.search.base import Provider, ProviderFailed, ProviderQuery
from cinder.store.index.page_index import IndexQuery, PageIndex

REMEMBERED_SECONDS = 60.0
_LONGEST_PAUSE_SECONDS = 3_600.0


class ProviderHealth:
    """Remembers recent failures of providers."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failing_until: dict[str, float] = {}
        self._paused_until: dict[str, float] = {}

    def note_success(self, name: str) -> None:
        """Forget the failures of a provider that has answered."""
        self._failing_until.pop(name, None)
        self._paused_until.pop(name, None)

    def note_failure(self, name: str, retry_after_seconds: float | None = None) -> None:
        """Remember a failure, and how long the provider asks to wait."""
        now = self._clock()
        self._failing_until[name] = now + REMEMBERED_SECONDS
        if retry_after_seconds is not None and retry_after_seconds > 0:
            pause = min(retry_after_seconds, _LONGEST_PAUSE_SECONDS)
            self._paused_until[name] = now + pause

    def is_healthy(self, name: str) -> bool:
        """Whether it has not failed recently."""
        return self._failing_until.get(name, 0.0) <= self._clock() and not self.pause_left(name)

    def pause_left(self, name: str) -> float:
        """Return for how many more seconds it must not be queried."""
        return max(0.0, self._paused_until.get(name, 0.0) - self._clock())


# Providers may return more hits than requested.
MAX_HITS = 100

_log: FilteringBoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderAnswer:
    """The answer of one provider to one query, or its failure."""

    provider: str
    milliseconds: int
    hits: Sequence[SearchHit] | None = None
    """None if it failed."""
    error: str | None = None


class ProviderCaller:
    """Queries providers, and records their health and metrics."""

    def __init__(self, health: ProviderHealth, metrics: Metrics) -> None:
        self.health = health
        self._metrics = metrics

    async def ask(self, provider: Provider, query: ProviderQuery, until: float) -> ProviderAnswer:
        """Return a provider's answer until a deadline of the loop's clock."""
        if pause := self.health.pause_left(provider.name):
            error = f"It wants no more requests for {pause:.0f} s; it was not asked"
            return self._note(provider.name, "paused", 0.0, error=error)
        started = time.monotonic()
        hits: Sequence[SearchHit] | None = None
        outcome, error = "ok", ""
        try:
            async with asyncio.timeout_at(until):
                hits = (await provider.search(query))[:MAX_HITS]
            self.health.note_success(provider.name)
        except TimeoutError:
            taken = time.monotonic() - started
            outcome, error = "timeout", f"No answer within {taken:.1f} s"
            self.health.note_failure(provider.name)
        except CinderError as failure:
            wait = failure.retry_after_seconds if isinstance(failure, ProviderFailed) else None
            outcome, error = "failed", failure.message
            self.health.note_failure(provider.name, wait)
        except Exception:  # noqa: BLE001 - one provider's mistake must not cost the others' answers
            _log.exception("a search provider failed unexpectedly", provider=provider.name)
            outcome, error = "failed", "It failed unexpectedly; the server's log has the details"
            self.health.note_failure(provider.name)
        return self._note(provider.name, outcome, time.monotonic() - started, hits, error or None)

    def _note(
        self,
        name: str,
        outcome: str,
        seconds: float,
        hits: Sequence[SearchHit] | None = None,
        error: str | None = None,
    ) -> ProviderAnswer:
        self._metrics.provider_seconds.labels(name, outcome).observe(seconds)
        return ProviderAnswer(
            provider=name, milliseconds=round(seconds * 1000), hits=hits, error=error
        )


class ReadRightsLookup(Protocol):
    """Tells which saved pages a caller may read; implemented by `ReadRights`."""

    async def domains_of(self, caller: str) -> tuple[str, ...]:
        """Return the only domains whose pages a caller may read; empty for all."""
        ...

    async def may_read(self, version: Version, caller: str) -> bool:
        """Whether a caller may read a version."""
        ...


class LocalProvider:
    """Searches the saved pages."""

    name = LOCAL

    def __init__(self, index: PageIndex, rights: ReadRightsLookup) -> None:
        self._index = index
        self._rights = rights

    async def search(self, query: ProviderQuery) -> list[SearchHit]:
        """Return the matching pages, the best first.

        Raises:
            CacheFailed: the index could not be read.
            Forbidden: the caller's token was revoked.
        """
        pages = await self._index.search(
            IndexQuery(
                text=query.text,
                caller=query.caller,
                offset=query.page * query.count,
                limit=query.count,
                filters=query.filters,
                domains=await self._rights.domains_of(query.caller),
            )
        )
        return [
            SearchHit(
                url=page.url,
                title=page.title,
                summary=page.passage,
                published_at=page.published_at,
                first_seen_at=page.first_seen_at,
                score=page.score,
            )
            for page in pages
            if await self._rights.may_read(page.version, query.caller)
        ]
