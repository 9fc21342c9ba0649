"""A sample of the soak: hostile pages of every kind between ordinary ones. `make soak` has all."""

import asyncio
from pathlib import Path

from cinder.app import open_app
from tests.fetch.browser.conftest import browser_settings
from tests.fetch.browser.processes import descendants, open_files, until
from tests.site import Site
from tests.soak.footprint import growth_error, growth_per_page, least_of_each
from tests.soak.renders import HOSTILE, Renders

_HOSTILE_EVERY = 3


async def test_hostile_pages_do_no_harm_to_others_and_leave_nothing(
    tmp_path: Path, website: Site
) -> None:
    processes, files = descendants(), open_files()
    async with open_app(browser_settings(tmp_path)) as app, asyncio.timeout(100):
        soak = await Renders(app, website).run(
            _HOSTILE_EVERY * len(HOSTILE) + 1, print, hostile_every=_HOSTILE_EVERY
        )
    assert soak.failures == []
    assert len(soak.hostile) == len(HOSTILE)
    assert descendants() <= processes
    await until(lambda: len(open_files()) <= len(files))
    assert list((tmp_path / "browser").glob("slave_*")) == []


def test_of_samples_the_least_of_each_group_count() -> None:
    samples = [(1, 30), (2, 10), (3, 20), (4, 40), (5, 15)]
    assert least_of_each(2, samples) == [(2, 10), (3, 20), (5, 15)]


def test_growth_is_the_slope_of_the_line_that_fits_best() -> None:
    assert growth_per_page([(1, 10), (2, 12), (3, 14)]) == 2
    assert growth_per_page([(1, 10), (2, 20), (3, 10)]) == 0
    assert growth_per_page([(1, 10)]) == 0


def test_the_error_of_growth_is_how_far_the_samples_are_from_the_line() -> None:
    assert growth_error([(1, 10), (2, 12), (3, 14)]) == 0
    assert growth_error([(1, 10), (2, 20), (3, 10)]) > growth_error([(1, 10), (2, 12), (3, 10)])
