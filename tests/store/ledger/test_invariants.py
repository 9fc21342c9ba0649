"""Whatever is done to a ledger, in whatever order, its numbers tell what its rows are."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from cinder.models.job import ContentFingerprint, NewPage, PageLease, PageResult, PageStatus
from cinder.store.documents import Store
from cinder.store.ledger.page_commits import LeaseLost
from tests.store.conftest import open_at
from tests.store.ledger.samples import a_job, a_page, limits, the_job
from tests.store.samples import Clock

HOSTS = ("https://a.test", "https://b.test")
NUMBERS = st.integers(0, 11)
FATES = st.sampled_from([None, None, None, PageStatus.OUTSIDE, PageStatus.TRAP, PageStatus.FAILED])
PAGES = st.lists(
    st.builds(
        lambda number, fate, depth: replace(
            a_page(f"/{number}", host=HOSTS[number % 2], fate=fate, depth=depth),
            is_too_deep=fate is PageStatus.OUTSIDE,
        ),
        NUMBERS,
        FATES,
        st.integers(1, 3),
    ),
    max_size=6,
)
RESULTS = st.builds(
    lambda fate, text, landing: PageResult(
        fate=fate,
        content=ContentFingerprint(text),
        landed_on=None if landing is None else a_page(f"/{landing}", host=HOSTS[landing % 2]),
    ),
    st.sampled_from(
        [PageStatus.FETCHED, PageStatus.FETCHED, PageStatus.FAILED, PageStatus.DISALLOWED]
    ),
    st.binary(min_size=1, max_size=1),
    st.none() | NUMBERS,
)

_QUEUED_BY_ROWS = """
SELECT host, count(*) FROM frontier WHERE job_id = 'job' AND state = 'queued' GROUP BY host
"""
_COUNTED_BY_ROWS = """
SELECT COALESCE(fate, state), count(*) FROM frontier WHERE job_id = 'job' GROUP BY 1
"""
# Each list's places, and how many there are.
_PLACES = (
    "SELECT 'all', position FROM frontier",
    "SELECT fate, fate_position FROM frontier WHERE fate IS NOT NULL",
    "SELECT 'errors', error_position FROM frontier WHERE error_position IS NOT NULL",
)
_ERRORS = "SELECT count(*) FROM frontier WHERE fate IN ('failed', 'disallowed by robots')"
_QUEUED_BY_NUMBERS = "SELECT host, queued FROM job_hosts WHERE job_id = 'job' AND queued <> 0"


@dataclass
class Actor:
    """Does things to a ledger, also with claims that it has lost."""

    store: Store
    clock: Clock
    claims: list[PageLease] = field(default_factory=list)

    async def add(self, pages: list[NewPage]) -> None:
        await self.store.ledger.add_pages("job", pages)

    async def lease(self, count: int) -> None:
        lease = await self.store.ledger.lease("job", limits(count=count, seconds=10))
        self.claims += lease.claims

    async def lease_alone(self, count: int) -> None:
        alone = limits(count=count, seconds=10, is_alone=True)
        self.claims += (await self.store.ledger.lease("job", alone)).claims

    async def commit_page(self, step: tuple[int, PageResult, list[NewPage]]) -> None:
        place, result, found = step
        if self.claims:
            page_commit = self.store.ledger.page_commit(
                self.claims[place % len(self.claims)],
                lambda _: result,
                found,
                is_near=lambda _one, _other: False,
            )
            with suppress(LeaseLost):
                await self.store.ledger.commit(page_commit)

    async def release(self, place: int) -> None:
        await self.store.ledger.release(self.claims[place:], is_try=bool(place % 2))

    async def renew(self, place: int) -> None:
        await self.store.ledger.renew(self.claims[place:], 10)

    async def expire(self, seconds: int) -> None:
        self.clock.move_on(timedelta(seconds=seconds))


Step = tuple[Callable[..., Awaitable[None]], object]
SETTLING = st.tuples(NUMBERS, RESULTS, PAGES)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just(Actor.add), PAGES),
        st.tuples(st.just(Actor.lease), st.integers(1, 5)),
        st.tuples(st.just(Actor.lease_alone), st.integers(1, 5)),
        st.tuples(st.just(Actor.commit_page), SETTLING),
        st.tuples(st.just(Actor.commit_page), SETTLING),
        st.tuples(st.just(Actor.release), NUMBERS),
        st.tuples(st.just(Actor.renew), NUMBERS),
        st.tuples(st.just(Actor.expire), st.integers(1, 15)),
    ),
    max_size=25,
)


async def _check(store: Store, path: Path) -> None:
    counts, job = await store.ledger.count_pages("job"), await the_job(store)
    with closing(sqlite3.connect(path)) as connection:
        by_rows, by_numbers = (
            sorted(connection.execute(sql)) for sql in (_QUEUED_BY_ROWS, _QUEUED_BY_NUMBERS)
        )
        counted = dict(connection.execute(_COUNTED_BY_ROWS).fetchall())
        places = [row for sql in _PLACES for row in connection.execute(sql)]
        (errors,) = connection.execute(_ERRORS).fetchone()
    assert by_rows == by_numbers
    assert job.found == sum(counted.values())
    assert counts.queued == counted.pop("queued", 0) + counted.pop("suspect", 0)
    assert counts.leased == counted.pop("leased", 0)
    assert counts.fates == job.fates == counted
    assert job.too_deep == counted.get(PageStatus.OUTSIDE, 0)
    _check_places(places, {"all": job.found, "errors": errors, **counted})


def _check_places(places: list[tuple[str, int]], sizes: dict[str, int]) -> None:
    """Check that each list's places are the numbers from 0 on."""
    for name, size in sizes.items():
        assert sorted(place for each, place in places if each == name) == list(range(size))


async def _act(steps: list[Step], path: Path) -> None:
    clock = Clock()
    async with open_at(f"sqlite:///{path}", clock) as store:
        await store.ledger.add_job(a_job(max_pages=8), [a_page("/0", host=HOSTS[0])])
        actor = Actor(store, clock)
        for act, argument in steps:
            await act(actor, argument)
            await _check(store, path)


@given(STEPS)
@settings(max_examples=25, deadline=None)
def test_numbers_agree_with_the_rows_whatever_is_done(steps: list[Step]) -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(_act(steps, Path(folder) / "cinder.db"))
