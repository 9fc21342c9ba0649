"""The host throttle: the delay between requests to a host, and when to retry a busy one."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass

from cinder.crawl.robots import RobotsRules, retry_delay
from cinder.models.job import PageLease
from cinder.models.url import origin_of
from cinder.services.jobs.site_files import RobotsCache
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.store.ledger import Ledger

_BUSY_STATUSES = frozenset((429, 503))
_FIRST_DELAY_MS = 1_000
_LONGEST_DELAY_MS = 60_000
# Slower responses increase the delay.
_SLOW_MS = 2_000
_GOOD_ANSWERS_TO_SPEED_UP = 10
# How often a page is tried again while its host is busy.
_MAX_TRIES = 4
_MAX_CACHED_HOSTS = 10_000


@dataclass(slots=True)
class HostDelay:
    """The delay between requests to one host, adapted to its responses to this process."""

    least_delay_ms: int = 0
    """The delay that robots.txt or the settings ask for."""
    delay_ms: int = 0
    good_answers: int = 0

    def note(self, status_code: int, spent_ms: int) -> int | None:
        """Adapt the delay to a response; return it if it changed."""
        if status_code in _BUSY_STATUSES:
            return self.slow_down()
        if spent_ms > _SLOW_MS:
            return self._set(max(self.delay_ms, min(spent_ms // 2, _LONGEST_DELAY_MS)))
        self.good_answers += 1
        if self.good_answers < _GOOD_ANSWERS_TO_SPEED_UP or self.delay_ms <= self.least_delay_ms:
            return None
        return self._set(self.delay_ms // 2 if self.delay_ms > _FIRST_DELAY_MS // 4 else 0)

    def slow_down(self) -> int | None:
        """Double the delay; return it if it changed."""
        return self._set(min(max(self.delay_ms * 2, _FIRST_DELAY_MS), _LONGEST_DELAY_MS))

    def _set(self, delay_ms: int) -> int | None:
        self.good_answers = 0
        delay_ms = max(delay_ms, self.least_delay_ms)
        if delay_ms == self.delay_ms:
            return None
        self.delay_ms = delay_ms
        return delay_ms


class RetryLater(Exception):
    """The host is busy, and the page is tried again later."""

    def __init__(self, pause_ms: int = 0, *, is_try: bool = True) -> None:
        """Take the time to wait, and whether a request was sent to the host."""
        super().__init__("later")
        self.pause_ms = pause_ms
        self.is_try = is_try


class HostThrottle:
    """Applies the robots rules and the delays of hosts, and shares delays through the ledger."""

    def __init__(self, ledger: Ledger, robots: RobotsCache, *, delay_ms: int = 0) -> None:
        self._ledger = ledger
        self._robots = robots
        self._delay_ms = delay_ms
        self._delays: defaultdict[str, HostDelay] = defaultdict(HostDelay)
        self._known: dict[str, RobotsRules] = {}

    async def judge(self, lease: PageLease, proxy_pool: str | None = None) -> str | None:
        """Return why a page may not be fetched, or None.

        Raises:
            RetryLater: the robots.txt of the site cannot be fetched now.
            CinderError: the host can never be reached.
        """
        rules = await self._robots.rules(lease.host, proxy_pool)
        if rules.must_wait and lease.tries < _MAX_TRIES:
            raise RetryLater(round(retry_delay(lease.tries + 1).total_seconds() * 1000))
        if self._known.get(lease.host) is not rules:
            # Start with the delay in the ledger, which other workers may have set.
            delay_ms = (await self._ledger.find_host(lease.host)).delay_ms
            if len(self._known) >= _MAX_CACHED_HOSTS:
                self._known.clear()
                self._delays.clear()
            self._delays[lease.host].delay_ms = delay_ms
            self._known[lease.host] = rules
        least_ms = max(round((rules.crawl_delay_seconds or 0) * 1000), self._delay_ms)
        delay = self._delays[lease.host]
        delay.least_delay_ms = least_ms
        if least_ms > delay.delay_ms:
            delay.delay_ms = least_ms
            await self._ledger.slow_down(lease.host, delay_ms=least_ms, pause_ms=least_ms)
        if lease.delay_ms < least_ms:
            # It was leased, perhaps with others, before the delay was known.
            raise RetryLater(least_ms, is_try=False)
        return rules.judge(lease.url)

    async def begin(self, lease: PageLease) -> None:
        """Start a host's delay again right before a request, since the lease may be older."""
        if lease.delay_ms:
            await self._ledger.slow_down(
                lease.host, delay_ms=lease.delay_ms, pause_ms=lease.delay_ms
            )

    async def rest(self, host: str) -> None:
        """Wait for a host's delay between several requests under one lease."""
        delay_ms = self._delays[host].least_delay_ms
        if delay_ms:
            await asyncio.sleep(delay_ms / 1000)
            await self._ledger.slow_down(host, delay_ms=delay_ms, pause_ms=delay_ms)

    def refuse_landing(self, url: str) -> str | None:
        """Return why a page may not redirect to a URL, by the robots rules in the cache."""
        rules = self._known.get(origin_of(url))
        return None if rules is None or rules.must_wait else rules.judge(url)

    def check(self, lease: PageLease, outcome: ScrapeOutcome) -> None:
        """Return if a response is final.

        Raises:
            RetryLater: the host is busy, and the page may be tried again.
        """
        if outcome.document.status_code in _BUSY_STATUSES and lease.tries < _MAX_TRIES:
            raise RetryLater

    async def note(self, lease: PageLease, outcome: ScrapeOutcome) -> None:
        """Adapt a host's delay to a response, and share it with all workers."""
        spent = sum(outcome.diagnostics.timing.values())
        delay_ms = self._delay_of(lease).note(outcome.document.status_code, spent)
        if delay_ms is not None:
            await self._ledger.slow_down(lease.host, delay_ms=delay_ms)

    async def requeue(self, lease: PageLease, retry: RetryLater) -> None:
        """Release a page, and pause its host."""
        delay = self._delay_of(lease)
        if not retry.pause_ms:
            delay.slow_down()
        await self._ledger.slow_down(
            lease.host, delay_ms=delay.delay_ms, pause_ms=retry.pause_ms or delay.delay_ms
        )
        await self._ledger.release([lease], is_try=retry.is_try)

    def _delay_of(self, lease: PageLease) -> HostDelay:
        """Return a host's delay, at least that of the lease, which another worker may have set."""
        delay = self._delays[lease.host]
        delay.delay_ms = max(delay.delay_ms, lease.delay_ms)
        return delay
