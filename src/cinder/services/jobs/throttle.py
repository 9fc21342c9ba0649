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

_TOO_MANY, _UNAVAILABLE = 429, 503
_FIRST_DELAY_MS = 1_000
_LONGEST_DELAY_MS = 60_000
# A host that takes longer than this is given time to breathe between two requests.
_SLOW_MS = 2_000
_GOOD_ANSWERS_TO_SPEED_UP = 10


@dataclass(slots=True)
class HostDelay:
    """How one host has answered lately, as far as this process knows."""

    least_delay_ms: int = 0
    """What the site or the owner asks for."""
    delay_ms: int = 0
    good_answers: int = 0

    def note(self, status_code: int, spent_ms: int) -> int | None:
        """Take in an answer; return the time between requests that it asks for, if it changed."""
        if status_code in (_TOO_MANY, _UNAVAILABLE):
            return self.slow_down()
        if spent_ms > _SLOW_MS:
            return self._set(max(self.delay_ms, min(spent_ms // 2, _LONGEST_DELAY_MS)))
        self.good_answers += 1
        if self.good_answers < _GOOD_ANSWERS_TO_SPEED_UP or self.delay_ms <= self.least_delay_ms:
            return None
        return self._set(self.delay_ms // 2 if self.delay_ms > _FIRST_DELAY_MS // 4 else 0)

    def slow_down(self) -> int | None:
        """Double the time between requests; return it, if it changed."""
        return self._set(min(max(self.delay_ms * 2, _FIRST_DELAY_MS), _LONGEST_DELAY_MS))

    def _set(self, delay_ms: int) -> int | None:
        self.good_answers = 0
        delay_ms = max(delay_ms, self.least_delay_ms)
        if delay_ms == self.delay_ms:
            return None
        self.delay_ms = delay_ms
        return delay_ms


# How often a host may say "not now" of one page before that counts as its answer.
_MAX_TRIES = 4
_BUSY_STATUSES = frozenset((429, 503))
_MAX_REMEMBERED = 10_000


class RetryLater(Exception):
    """The host wants to be asked later."""

    def __init__(self, pause_ms: int = 0, *, is_try: bool = True) -> None:
        """Take how long to wait, and whether the host was asked at all."""
        super().__init__("later")
        self.pause_ms = pause_ms
        self.is_try = is_try


class HostThrottle:
    """What all workers of this process know of hosts, and what they tell the others."""

    def __init__(self, ledger: Ledger, robots: RobotsCache, *, delay_ms: int = 0) -> None:
        self._ledger = ledger
        self._robots = robots
        self._delay_ms = delay_ms
        self._paces: defaultdict[str, HostDelay] = defaultdict(HostDelay)
        self._known: dict[str, RobotsRules] = {}

    async def judge(self, claim: PageLease) -> str | None:
        """Return why a page may not be asked for, or None.

        Raises:
            TryAgain: the site cannot say so for now.
            CinderError: the host cannot be reached, and will not be.
        """
        rules = await self._robots.rules(claim.host)
        if rules.must_wait and claim.tries < _MAX_TRIES:
            raise RetryLater(round(retry_delay(claim.tries + 1).total_seconds() * 1000))
        if self._known.get(claim.host) is not rules:
            await self._learn(claim.host, rules)
        asked_for = round((rules.crawl_delay_seconds or 0) * 1000)
        wanted_ms = max(asked_for, self._delay_ms)
        await self._obey(claim.host, wanted_ms)
        if claim.delay_ms < wanted_ms:
            # It was claimed, perhaps with others, before anyone knew.
            raise RetryLater(wanted_ms, is_try=False)
        return rules.judge(claim.url)

    async def begin(self, claim: PageLease) -> None:
        """Book a host that wants time between requests from now on: the claim may be older."""
        if claim.delay_ms:
            await self._ledger.slow_down(
                claim.host, delay_ms=claim.delay_ms, pause_ms=claim.delay_ms
            )

    async def rest(self, host: str) -> None:
        """Wait as long as a host wants it between the requests that one claim stands for."""
        delay_ms = self._paces[host].least_delay_ms
        if delay_ms:
            await asyncio.sleep(delay_ms / 1000)
            await self._ledger.slow_down(host, delay_ms=delay_ms, pause_ms=delay_ms)

    def refuse_landing(self, url: str) -> str | None:
        """Return why a page may not be redirected to, as far as is known without asking."""
        rules = self._known.get(origin_of(url))
        return None if rules is None or rules.must_wait else rules.judge(url)

    def check(self, claim: PageLease, outcome: ScrapeOutcome) -> None:
        """Return if an answer is one that counts.

        Raises:
            TryAgain: the host has too much to do, and may be asked again.
        """
        if outcome.document.status_code in _BUSY_STATUSES and claim.tries < _MAX_TRIES:
            raise RetryLater

    async def note(self, claim: PageLease, outcome: ScrapeOutcome) -> None:
        """Take in how a host answered, and tell all workers if it wants another pace."""
        spent = sum(outcome.diagnostics.timing.values())
        delay_ms = self._pace(claim).note(outcome.document.status_code, spent)
        if delay_ms is not None:
            await self._ledger.slow_down(claim.host, delay_ms=delay_ms)

    async def requeue(self, claim: PageLease, again: RetryLater) -> None:
        """Give a page back, and its host some time."""
        pace = self._pace(claim)
        if not again.pause_ms:
            pace.slow_down()
        await self._ledger.slow_down(
            claim.host, delay_ms=pace.delay_ms, pause_ms=again.pause_ms or pace.delay_ms
        )
        await self._ledger.release([claim], is_try=again.is_try)

    def _pace(self, claim: PageLease) -> HostDelay:
        """Return a host's pace, no faster than the claim says: who slowed it down may have died."""
        pace = self._paces[claim.host]
        pace.delay_ms = max(pace.delay_ms, claim.delay_ms)
        return pace

    async def _learn(self, host: str, rules: RobotsRules) -> None:
        """Begin at the pace that all workers keep: who has set it may be gone, or forgotten."""
        delay_ms = (await self._ledger.find_host(host)).delay_ms
        if len(self._known) >= _MAX_REMEMBERED:
            self._known.clear()
            self._paces.clear()
        self._paces[host].delay_ms = delay_ms
        self._known[host] = rules

    async def _obey(self, host: str, wanted_ms: int) -> None:
        """Take the time between requests that a site or the owner asks for."""
        pace = self._paces[host]
        pace.least_delay_ms = wanted_ms
        if wanted_ms > pace.delay_ms:
            pace.delay_ms = wanted_ms
            await self._ledger.slow_down(host, delay_ms=wanted_ms, pause_ms=wanted_ms)
