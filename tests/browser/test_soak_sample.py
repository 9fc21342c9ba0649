"""A sample of `make soak`: hostile pages of every kind between ordinary ones."""

import asyncio
from pathlib import Path

from cinder.app.composition import open_app
from tests.browser.conftest import browser_settings
from tests.browser.processes import descendants, open_files, until
from tests.site import Site
from tests.soak.footprint import growth_error, growth_per_page
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


def test_growth_compares_pages_with_the_same_place_in_their_rounds() -> None:
    assert growth_per_page([(1, 10), (2, 12), (3, 14)], 1) == 2
    assert growth_per_page([(1, 10), (2, 99), (3, 10), (4, 99)], 2) == 0
    assert growth_per_page([(1, 10), (2, 99), (3, 12), (4, 101)], 2) == 1
    assert growth_per_page([(1, 10)], 2) == 0


def test_the_error_of_growth_is_how_far_the_samples_are_from_the_line() -> None:
    assert growth_error([(1, 10), (2, 12), (3, 14)], 1) == 0
    assert growth_error([(1, 10), (2, 20), (3, 10)], 1) > growth_error(
        [(1, 10), (2, 12), (3, 10)], 1
    )
