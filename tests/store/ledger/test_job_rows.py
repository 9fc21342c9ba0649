"""Jobs as both databases keep them: once per key, ended once, forgotten when they expire."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from cinder.models.document import Json
from cinder.models.job import JobKind, JobStatus, PageResult, PageStatus
from cinder.store.documents import Store
from cinder.store.ledger.page_commits import LeaseLost
from tests.store.ledger.samples import (
    a_job,
    a_page,
    claim_one,
    commit_page,
    ledger_of,
    limits,
    the_job,
)
from tests.store.samples import Clock


async def test_a_job_is_read_as_it_was_kept(store: Store, clock: Clock) -> None:
    new = replace(a_job(max_pages=7), spec={"url": "https://ü.test/", "deep": [{"a": None}]})
    job = await store.ledger.add_job(new, [a_page("/1")])

    assert job == await store.ledger.find_job("job")
    assert (job.id, job.kind, job.owner, job.max_pages) == ("job", JobKind.CRAWL, "owner", 7)
    assert (job.spec, job.expires_at) == (new.spec, new.expires_at)
    assert (job.status, job.found, job.is_seeded) == (JobStatus.QUEUED, 1, True)
    assert job.created_at == clock.now.replace(microsecond=123000)


async def test_a_key_starts_one_job_however_often_and_by_however_many(store: Store) -> None:
    started = await asyncio.gather(
        *(
            store.ledger.add_job(a_job(f"job{n}", idempotency_key="once"), [a_page("/1")])
            for n in range(5)
        )
    )

    assert len({job.id for job in started}) == 1
    assert await store.ledger.count_open() == 1
    assert (await the_job(store, started[0].id)).found == 1


async def test_the_same_key_of_another_owner_or_kind_starts_another_job(store: Store) -> None:
    first = a_job(idempotency_key="key")
    await store.ledger.add_job(first)
    await store.ledger.add_job(replace(first, id="2", owner="somebody else"))
    await store.ledger.add_job(replace(first, id="3", kind=JobKind.BATCH))

    assert await store.ledger.count_open() == 3


async def test_jobs_are_listed_to_their_owner_newest_first(store: Store, clock: Clock) -> None:
    for name in ("first", "second", "third"):
        await store.ledger.add_job(a_job(name))
        clock.move_on(timedelta(seconds=1))
    await store.ledger.add_job(replace(a_job("hidden"), owner="somebody else"))

    listed = await store.ledger.list_jobs("owner", limit=2)
    assert [job.id for job in listed] == ["third", "second"]


async def test_a_job_is_seeded_once_its_last_urls_are_there(store: Store) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1")], is_seeded=False)
    assert await store.ledger.add_pages("job", [a_page("/1"), a_page("/2")]) == 1
    assert not (await the_job(store)).is_seeded
    await store.ledger.add_pages("job", [], is_last=True)

    job = await the_job(store)
    assert (job.is_seeded, job.found) == (True, 2)


async def test_what_a_job_has_not_fetched_when_it_ends_is_left_out(store: Store) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1"), a_page("/2"), a_page("/3")])
    await commit_page(store, await claim_one(store))
    held = await claim_one(store)

    assert await store.ledger.finish_job("job", JobStatus.COMPLETED)
    with pytest.raises(LeaseLost):
        await commit_page(store, held)
    await store.ledger.release([held])

    pages = await ledger_of(store)
    assert [page.fate for page in pages.values()] == [
        PageStatus.FETCHED,
        PageStatus.LEFT,
        PageStatus.LEFT,
    ]
    assert pages["/2"].reason == "the job has as many pages as it may"
    job = await the_job(store)
    assert (job.status, job.fetched, job.found) == (JobStatus.COMPLETED, 1, 3)
    assert job.finished_at is not None
    assert await store.ledger.count_open() == 0
    assert await store.ledger.list_unattended() == []


@pytest.mark.parametrize("status", [status for status in JobStatus if status.is_over])
async def test_a_job_that_ends_forgets_its_secrets(store: Store, status: JobStatus) -> None:
    spec: dict[str, Json] = {
        "url": "https://a.test/",
        "max_pages": 3,
        "webhook": {"secret": "whsec_abc"},
        "request": {"headers": [["Authorization", "Basic abc"]]},
    }
    await store.ledger.add_job(replace(a_job(), spec=spec), [a_page("/1")])
    await store.ledger.finish_job("job", status)
    assert (await the_job(store)).spec == {"url": "https://a.test/", "max_pages": 3}


async def test_a_job_ends_once_and_says_why_it_failed(store: Store) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1")])
    ended = await asyncio.gather(
        *(store.ledger.finish_job("job", JobStatus.FAILED, "broken") for _ in range(4))
    )

    assert sorted(ended) == [False, False, False, True]
    job = await the_job(store)
    assert (job.status, job.error) == (JobStatus.FAILED, "broken")


async def test_no_page_beyond_a_jobs_number_is_leased_while_others_are_out(store: Store) -> None:
    await store.ledger.add_job(a_job(max_pages=3), [a_page(f"/{n}") for n in range(9)])
    leases = await asyncio.gather(*(store.ledger.lease("job", limits(count=2)) for _ in range(4)))
    claims = [claim for lease in leases for claim in lease.claims]
    assert len(claims) == 3

    await commit_page(store, claims[0], PageResult(fate=PageStatus.FAILED))
    await commit_page(store, claims[1])
    lease = await store.ledger.lease("job", limits(count=9))
    # A page that failed is none that the job has.
    assert (len(lease.claims), lease.is_over) == (1, False)


async def test_an_expired_job_leaves_only_that_it_was(store: Store, clock: Clock) -> None:
    await store.ledger.add_job(a_job("job"), [a_page("/1")])
    await store.ledger.add_job(a_job("over"), [a_page("/1")])
    await store.ledger.finish_job("over", JobStatus.COMPLETED)
    later = replace(a_job("later"), expires_at=a_job().expires_at + timedelta(days=1))
    await store.ledger.add_job(later, [a_page("/1")])
    clock.now = a_job().expires_at

    assert await store.ledger.drop_expired(clock.now) == 2
    assert await store.ledger.drop_expired(clock.now) == 0
    job, over = await the_job(store), await the_job(store, "over")
    assert (job.is_expired, job.status, job.spec) == (True, JobStatus.FAILED, {})
    assert (over.is_expired, over.status) == (True, JobStatus.COMPLETED)
    assert await ledger_of(store) == {}
    assert (await store.ledger.lease("job", limits())).is_over
    assert len((await store.ledger.lease("later", limits())).claims) == 1


async def test_failures_in_a_row_are_counted_until_work_goes_well(
    store: Store, clock: Clock
) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1")])
    assert await store.ledger.note_failure("job", "down", 5_000) == 1
    assert await store.ledger.note_failure("job", "down", 5_000) == 2
    assert await store.ledger.list_unattended() == []
    clock.move_on(timedelta(seconds=5))
    assert await store.ledger.list_unattended() == ["job"]

    await store.ledger.forget_failures("job")
    job = await the_job(store)
    assert (job.attempts, job.error) == (0, None)
    await store.ledger.finish_job("job", JobStatus.CANCELLED)
    assert await store.ledger.note_failure("job", "down", 0) == 0


async def test_a_limit_that_a_job_has_met_is_the_reason_for_what_it_left_out(store: Store) -> None:
    await store.ledger.add_job(a_job(), [a_page("/1")])
    assert await store.ledger.finish_job("job", JobStatus.COMPLETED, "it has enough")
    assert (await the_job(store)).error == "it has enough"
    assert (await ledger_of(store))["/1"].reason == "it has enough"


async def test_open_jobs_are_counted_for_each_owner(store: Store) -> None:
    await store.ledger.add_job(a_job("mine"))
    await store.ledger.add_job(replace(a_job("another"), owner="somebody else"))
    await store.ledger.add_job(a_job("over"))
    await store.ledger.finish_job("over", JobStatus.CANCELLED)
    assert await store.ledger.count_open("owner") == 1
    assert await store.ledger.count_open("nobody") == 0
    assert await store.ledger.count_open() == 2
    assert await store.ledger.list_open_owners() == ["owner", "somebody else"]
