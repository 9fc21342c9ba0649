"""Asking providers: each within its time, and whatever goes wrong is the provider's alone."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.errors import CinderError
from cinder.metrics import Metrics
from cinder.model.search import SearchHit
from cinder.search.base import Provider, ProviderFailed, ProviderQuery
from cinder.services.search.provider_health import ProviderHealth

# A provider may send more than was asked for; nobody reads so much of it.
MAX_HITS = 100

_log: FilteringBoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one request to a provider came to."""

    provider: str
    milliseconds: int
    hits: Sequence[SearchHit] | None = None
    """None where it gave no answer."""
    error: str | None = None


class Asker:
    """Asks providers, remembers who failed, and counts."""

    def __init__(self, health: ProviderHealth, metrics: Metrics) -> None:
        self.health = health
        self._metrics = metrics

    async def ask(self, provider: Provider, query: ProviderQuery, until: float) -> Asked:
        """Return what a provider answers by a moment of the loop's clock."""
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
    ) -> Asked:
        self._metrics.observe_provider(name, outcome, seconds)
        return Asked(provider=name, milliseconds=round(seconds * 1000), hits=hits, error=error)
