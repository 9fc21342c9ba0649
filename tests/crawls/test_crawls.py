"""Crawls by real processes: whole ones, and ones that are killed, frozen, cut off or cancelled."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from cinder.models.job import EndedBy, JobStatus, PageState, PageStatus
from tests.crawled_site.server import Manners
from tests.crawls.ordeals import (
    cut_off,
    freeze_one,
    kill_at,
    kill_at_random,
    kill_with_the_same_pages,
)
from tests.crawls.poison import POISON, crawl_poisoned_site
from tests.crawls.stages import Stage, embedded_stage, perform
from tests.crawls.verdicts import judge_saved
from tests.crawls.watching import SECTION, WHOLE, until_time
from tests.store.postgres import PostgresServer

# Slow enough for much to be left when something happens to a worker.
UNHURRIED = Manners(latency_seconds=0.3)
END_SECONDS = 240

# Whole crawls, by several processes: longer than other tests may take.
pytestmark = pytest.mark.timeout(360)


async def test_crawl_finds_the_pages_of_a_site_and_explains_every_other_url(
    tmp_path: Path,
) -> None:
    # No process dies here, so leases may last longer than any pause of a busy machine.
    async with perform(embedded_stage(tmp_path), WHOLE, lease_seconds=60) as play:
        await play.watch.until_over(END_SECONDS)

        assert await play.judge() == []
        job = await play.watch.find()
        traps = await play.watch.pages(PageStatus.TRAP)
        assert job.left_out[EndedBy.TRAP] == len(traps) > 0
        assert job.ended_by in (EndedBy.TRAP, EndedBy.MAX_DEPTH)


async def test_crawl_outlives_processes_that_are_killed(stage: Stage) -> None:
    async with perform(stage, SECTION, UNHURRIED) as play:
        ordeal = await kill_at_random(play.watch, play.crew, kills=2, seed=5, among=50)
        await play.watch.until_over(END_SECONDS)

        assert ordeal.kills == 2
        assert ordeal.problems == []
        assert await play.judge() == []


async def test_restarts_fail_no_page_that_was_only_leased(tmp_path: Path) -> None:
    stage = embedded_stage(tmp_path)
    async with perform(stage, SECTION, UNHURRIED) as play:
        assert stage.file is not None
        await kill_with_the_same_pages(play.watch, play.crew, stage.file, kills=4)
        await play.watch.until_over(END_SECONDS)

        assert await play.judge() == []


@pytest.mark.parametrize("seconds", [0.2, 0.9, 1.7])
async def test_crawl_that_is_killed_as_it_begins_loses_nothing(
    tmp_path: Path, seconds: float
) -> None:
    async with perform(embedded_stage(tmp_path), SECTION) as play:
        await kill_at(play.watch, play.crew, seconds)
        await play.watch.until_over(END_SECONDS)

        assert await play.judge() == []


async def test_page_that_ends_its_process_fails_alone_and_the_crawl_goes_on(stage: Stage) -> None:
    async with crawl_poisoned_site(stage, crash_tries=2) as crawl:
        await crawl.watch.until_over(END_SECONDS)
        pages = await crawl.watch.pages()

        fates = {page.url.removeprefix(crawl.site.base): page.fate for page in pages}
        assert fates == dict.fromkeys(crawl.site.pages, PageStatus.FETCHED) | {
            POISON: PageStatus.FAILED
        }
        assert await judge_saved(crawl.watch, pages) == []
        # Once beside others, and then as often as the setting says, with no other.
        assert crawl.site.deaths == 3
        assert crawl.site.died_alone == [False, True, True]


async def test_frozen_worker_that_wakes_writes_no_second_result(fleet: Stage) -> None:
    async with perform(replace(fleet, workers=1), SECTION, UNHURRIED) as play:
        refused = await freeze_one(play.watch, play.crew)
        await play.watch.until_over(END_SECONDS)

        assert refused > 0
        assert await play.judge() == []


async def test_crawl_goes_on_after_postgresql_was_away(
    fleet: Stage, server: PostgresServer
) -> None:
    async with perform(fleet, SECTION, UNHURRIED) as play:
        lost = await cut_off(play.watch, server, seconds=3)
        await play.watch.until_over(END_SECONDS)

        assert lost == []
        assert await play.judge() == []


async def test_cancelled_crawl_asks_for_nothing_more_and_writes_nothing_more(
    stage: Stage,
) -> None:
    async with perform(stage, SECTION, UNHURRIED) as play:
        await play.watch.until_fetched(5, END_SECONDS)
        await play.watch.cancel()
        cancelled_at, rows = time.monotonic(), await play.watch.pages()
        # The website's clock is the machine's, as is this one.
        await until_time(cancelled_at + 3)

        late = [visit for visit in play.site.visits().all if visit.started > cancelled_at + 2]
        assert late == []
        assert await play.watch.status() is JobStatus.CANCELLED
        assert await play.watch.pages() == rows
        assert {row.state for row in rows} == {PageState.DONE}
        assert await judge_saved(play.watch, rows) == []


async def test_site_that_wants_time_between_requests_gets_it_though_workers_die(
    fleet: Stage,
) -> None:
    async with perform(fleet, SECTION, Manners(crawl_delay=1.5), max_pages=8) as play:
        ordeal = await kill_at_random(play.watch, play.crew, kills=1, seed=1, among=6)
        assert await play.watch.until_over(END_SECONDS) is JobStatus.COMPLETED

        assert ordeal.problems == []
        # A request leaves a little later than it is booked for: on a busy machine, up to a second.
        assert play.site.visits().min_gap_seconds() > 0.4
        assert play.site.visits().max_at_once() == 1
