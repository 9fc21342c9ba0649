"""Courtesy to the hosts of a job's pages: what they allow, and how fast they want to be asked."""

import asyncio
from collections import defaultdict

from cinder.crawl.robots import RobotsRules, retry_delay
from cinder.model.job import Claim
from cinder.model.url import origin_of
from cinder.services.jobs.pace import HostPace
from cinder.services.jobs.robots import RobotsKeeper
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.store.ledger_base import Ledger

# How often a host may say "not now" of one page before that counts as its answer.
_MAX_TRIES = 4
_NOT_NOW = frozenset((429, 503))
_MAX_REMEMBERED = 10_000


class TryAgain(Exception):
    """The host wants to be asked later."""

    def __init__(self, pause_ms: int = 0, *, is_try: bool = True) -> None:
        """Take how long to wait, and whether the host was asked at all."""
        super().__init__("later")
        self.pause_ms = pause_ms
        self.is_try = is_try


class Courtesy:
    """What all workers of this process know of hosts, and what they tell the others."""

    def __init__(self, ledger: Ledger, robots: RobotsKeeper, *, delay_ms: int = 0) -> None:
        self._ledger = ledger
        self._robots = robots
        self._delay_ms = delay_ms
        self._paces: defaultdict[str, HostPace] = defaultdict(HostPace)
        self._known: dict[str, RobotsRules] = {}

    async def judge(self, claim: Claim) -> str | None:
        """Return why a page may not be asked for, or None.

        Raises:
            TryAgain: the site cannot say so for now.
            CinderError: the host cannot be reached, and will not be.
        """
        rules = await self._robots.rules(claim.host)
        if rules.must_wait and claim.tries < _MAX_TRIES:
            raise TryAgain(round(retry_delay(claim.tries + 1).total_seconds() * 1000))
        if self._known.get(claim.host) is not rules:
            await self._learn(claim.host, rules)
        asked_for = round((rules.crawl_delay_seconds or 0) * 1000)
        wanted_ms = max(asked_for, self._delay_ms)
        await self._obey(claim.host, wanted_ms)
        if claim.delay_ms < wanted_ms:
            # It was claimed, perhaps with others, before anyone knew.
            raise TryAgain(wanted_ms, is_try=False)
        return rules.judge(claim.url)

    async def begin(self, claim: Claim) -> None:
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

    def check(self, claim: Claim, outcome: ScrapeOutcome) -> None:
        """Return if an answer is one that counts.

        Raises:
            TryAgain: the host has too much to do, and may be asked again.
        """
        if outcome.document.status_code in _NOT_NOW and claim.tries < _MAX_TRIES:
            raise TryAgain

    async def note(self, claim: Claim, outcome: ScrapeOutcome) -> None:
        """Take in how a host answered, and tell all workers if it wants another pace."""
        spent = sum(outcome.diagnostics.timing.values())
        delay_ms = self._pace(claim).note(outcome.document.status_code, spent)
        if delay_ms is not None:
            await self._ledger.slow_down(claim.host, delay_ms=delay_ms)

    async def come_back_later(self, claim: Claim, again: TryAgain) -> None:
        """Give a page back, and its host some time."""
        pace = self._pace(claim)
        if not again.pause_ms:
            pace.slow_down()
        await self._ledger.slow_down(
            claim.host, delay_ms=pace.delay_ms, pause_ms=again.pause_ms or pace.delay_ms
        )
        await self._ledger.release([claim], is_try=again.is_try)

    def _pace(self, claim: Claim) -> HostPace:
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
