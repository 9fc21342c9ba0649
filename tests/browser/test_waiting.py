import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cinder.app.composition import open_app
from cinder.browser.engine import BrowserParts
from cinder.browser.waiting import TextWatch, WaitPolicy
from cinder.config.settings import Settings, read_settings
from cinder.models.document import FetchSource
from cinder.models.request import CachePolicy, Mode, RenderOptions, ScrapeRequest
from tests.browser.conftest import LOOPBACK, RESOLVER, Visitor, in_browser
from tests.site import Site
from tests.site.scripted import LATE_BY, LATE_DATA


def waiting(parts: BrowserParts, **changes: Any) -> BrowserParts:
    """Return the same browsers with another policy. Any: its fields' values."""
    return replace(parts, visit=replace(parts.visit, wait=replace(parts.visit.wait, **changes)))


def looks(lengths: list[int], **policy: Any) -> list[bool]:
    watch = TextWatch(WaitPolicy(**policy))
    return [watch.is_stable(length) for length in lengths]


# The watch


def test_text_is_stable_after_the_set_number_of_equal_looks() -> None:
    assert looks([100, 100, 100], stable_rounds=2) == [False, False, True]
    assert looks([100, 100, 100, 100], stable_rounds=3) == [False, False, False, True]


def test_a_change_within_the_threshold_counts_as_none() -> None:
    assert looks([100, 102, 100], stable_rounds=2, length_change_threshold=0.02) == [
        False,
        False,
        True,
    ]


def test_a_change_beyond_the_threshold_starts_the_count_anew() -> None:
    assert looks([100, 100, 110, 110, 110], stable_rounds=2, length_change_threshold=0.02) == [
        False,
        False,
        False,
        False,
        True,
    ]


def test_an_empty_page_is_stable_too() -> None:
    assert looks([0, 0, 0], stable_rounds=2) == [False, False, True]


def test_a_page_that_could_not_be_looked_at_is_never_stable() -> None:
    assert looks([-1, -1, -1, -1], stable_rounds=1) == [False] * 4


# The wait


@in_browser
async def test_content_that_arrives_late_is_waited_for(visitor: Visitor) -> None:
    patient = replace(visitor, parts=waiting(visitor.parts, network_idle_seconds=1.0))
    page = await patient.visit("/late?after=50")
    assert page.body.decode().count("<h2>Story") == len(LATE_DATA["items"])


@in_browser
@pytest.mark.parametrize("path", LATE_BY)
async def test_content_is_waited_for_by_whatever_way_it_comes(visitor: Visitor, path: str) -> None:
    patient = replace(visitor, parts=waiting(visitor.parts, network_idle_seconds=1.0))
    page = await patient.visit(f"/{path}")
    assert b"<p>Story" in page.body


@in_browser
@pytest.mark.parametrize("path", ["/article", "/late?after=50", "/moves-on"])
async def test_a_quiet_page_is_read_before_its_text_was_stable(visitor: Visitor, path: str) -> None:
    slow = waiting(visitor.parts, network_idle_seconds=600, max_wait_seconds=600)
    endless = replace(visitor, parts=waiting(slow, stable_rounds=10_000))
    # On a busy machine the network may be idle first. The test's own limit ends the tries.
    page = None
    while page is None:
        with suppress(TimeoutError):
            async with asyncio.timeout(10):
                page = await endless.visit(path)
    assert page.status_code == 200


@in_browser
async def test_a_page_does_not_see_that_its_timers_are_watched(visitor: Visitor) -> None:
    page = await visitor.visit("/timers")
    found = json.loads(page.body.decode().partition('id="found">')[2].partition("<")[0])
    assert found == [
        ["setTimeout", 1, True],
        ["setInterval", 1, True],
        ["clearTimeout", 0, True],
        ["requestAnimationFrame", 1, True],
        ["Worker", 1, True],
        True,
        ["first", "second"],
        "number",
    ]


@in_browser
async def test_a_page_that_never_stops_changing_is_read_after_the_maximum(
    visitor: Visitor,
) -> None:
    page = await visitor.visit("/grows")
    assert b"word word" in page.body


@in_browser
async def test_text_is_not_watched_when_smart_wait_is_off(visitor: Visitor) -> None:
    hasty = replace(visitor, parts=waiting(visitor.parts, smart_wait=False))
    page = await hasty.visit("/late?after=60000")
    assert b"Story" not in page.body


@in_browser
async def test_a_fixed_wait_lasts_as_long_as_it_says_and_replaces_the_smart_one(
    visitor: Visitor,
) -> None:
    # A smart wait would last ten seconds here: the test's own timeout is the upper bound.
    endless = waiting(visitor.parts, max_wait_seconds=200, network_idle_seconds=200)
    page = await replace(visitor, parts=endless).visit("/ticks", wait_for_ms=300)
    ticks = int(page.body.decode().partition('id="ticks">')[2].partition("<")[0])
    assert ticks >= 295


@in_browser
async def test_a_page_that_never_finishes_loading_is_read_with_a_warning(
    visitor: Visitor, website: Site
) -> None:
    hasty = replace(visitor, parts=waiting(visitor.parts, navigate_timeout_seconds=2.5))
    page = await hasty.visit("/hangs")
    assert website.hits("/silent") == 1
    assert b"<p>What has come so far</p>" in page.body
    assert page.warnings == ("The page was still loading when it was read.",)


@in_browser
async def test_a_frame_that_never_loads_leaves_the_page_readable(visitor: Visitor) -> None:
    hasty = replace(visitor, parts=waiting(visitor.parts, navigate_timeout_seconds=2.5))
    page = await hasty.visit("/hanging-frame")
    assert b"<p>Around the frame</p>" in page.body


@in_browser
async def test_a_frame_that_keeps_reloading_does_not_hold_up_its_page(visitor: Visitor) -> None:
    page = await visitor.visit("/busy-frame")
    assert page.final_url == visitor.site.url("/busy-frame")
    assert b"<p>Main page</p>" in page.body


@in_browser
@pytest.mark.parametrize("path", ["/moves-on", "/moves-on-loaded", "/refreshes"])
async def test_a_page_that_moves_on_by_itself_is_followed(visitor: Visitor, path: str) -> None:
    page = await visitor.visit(path)
    assert page.final_url == visitor.site.url("/article")
    assert b"<title>Ember care</title>" in page.body


@in_browser
async def test_a_page_that_moves_on_while_it_is_watched_is_followed(
    visitor: Visitor, website: Site
) -> None:
    watchful = replace(visitor, parts=waiting(visitor.parts, stable_rounds=30))
    async with asyncio.TaskGroup() as tasks:
        visit = tasks.create_task(watchful.visit("/moves-on-later"))
        await website.asked("/silent")
        website.release()
    assert visit.result().final_url == website.url("/silent")


@in_browser
async def test_a_page_that_keeps_reloading_is_read_all_the_same(visitor: Visitor) -> None:
    page = await visitor.visit("/reloads")
    assert b"<p>Before</p>" in page.body


# The whole way


@in_browser
@pytest.mark.parametrize("mode", [Mode.SMART, Mode.DYNAMIC])
async def test_late_content_is_in_the_markdown(website: Site, tmp_path: Path, mode: Mode) -> None:
    async with open_app(_usual_settings(tmp_path), resolver=RESOLVER) as app:
        outcome = await app.scrape.scrape(_request(website, "/late", mode))
    markdown = outcome.document.content.markdown or ""
    assert [line for line in markdown.splitlines() if line.startswith("## ")] == [
        f"## {item['title']}" for item in LATE_DATA["items"]
    ]
    assert outcome.document.source is FetchSource.BROWSER


@in_browser
async def test_a_page_without_scripts_starts_no_browser(website: Site, tmp_path: Path) -> None:
    async with open_app(_usual_settings(tmp_path), resolver=RESOLVER) as app:
        outcome = await app.scrape.scrape(_request(website, "/article", Mode.SMART))
        workers = app.metrics.registry.get_sample_value(
            "cinder_browser_pool", {"profile": "default", "state": "workers"}
        )
    assert (outcome.document.source, workers) == (FetchSource.NATIVE, 0)


def _usual_settings(folder: Path) -> Settings:
    """Return settings whose waits are those that everybody has."""
    return read_settings(data_dir=folder, egress=LOOPBACK)


def _request(site: Site, path: str, mode: Mode) -> ScrapeRequest:
    return ScrapeRequest(
        url=site.url(path),
        render=RenderOptions(mode=mode),
        cache=CachePolicy(force_rescrape=True),
        timeout_ms=30_000,
    )
