"""The outbox on both databases: events with what they tell of, claims, dead letters."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cinder.models.job import ContentFingerprint, Job, JobStatus, NewJob, PageResult, PageStatus
from cinder.models.webhook import DueEvent, EventKind, EventState, WebhookTarget, write_target
from cinder.services.webhooks import SPEC_KEY, JobEvents
from cinder.store.documents import Store
from cinder.store.ledger.page_commits import LeaseLost
from tests.store.ledger.samples import a_job, a_page, limits
from tests.store.samples import Clock

HOOK = WebhookTarget(url="https://receiver.test/hook", secret="a secret of the tests")


def a_told_job(job_id: str = "job", target: WebhookTarget = HOOK) -> NewJob:
    return replace(a_job(job_id), spec={SPEC_KEY: write_target(target)})


async def start(store: Store, *paths: str, target: WebhookTarget = HOOK) -> JobEvents:
    job = await store.ledger.add_job(a_told_job(target=target), [a_page(path) for path in paths])
    return events_of(job)


def events_of(job: Job) -> JobEvents:
    events = JobEvents.of(job)
    assert events is not None
    return events


async def claim(
    store: Store, count: int = 100, *, per_url: int = 100, but: tuple[str, ...] = ()
) -> list[DueEvent]:
    return await store.outbox.claim(count, per_url=per_url, but=but, seconds=60)


def payloads(claimed: list[DueEvent]) -> list[tuple[str, dict[str, Any]]]:
    return [(due.event.type, json.loads(due.event.body)["data"]) for due in claimed]


async def commit_all(store: Store, events: JobEvents, result: PageResult) -> None:
    for found in (await store.ledger.lease("job", limits(), emitter=events)).claims:
        await store.ledger.commit(store.ledger.page_commit(found, lambda _: result, emitter=events))


async def add_events(store: Store, count: int, target: WebhookTarget = HOOK) -> None:
    """Add events of pages, and none of their job."""
    only_pages = replace(target, events=frozenset({EventKind.PAGE}))
    events = await start(store, *(f"/{n}" for n in range(count)), target=only_pages)
    await commit_all(store, events, PageResult(fate=PageStatus.FETCHED))


async def test_a_job_tells_its_start_its_pages_and_its_end(store: Store) -> None:
    events = await start(store, "/1")
    await commit_all(
        store, events, PageResult(fate=PageStatus.FETCHED, status_code=200, title="One")
    )
    await store.ledger.lease("job", limits(), emitter=events)
    await store.ledger.finish_job("job", JobStatus.COMPLETED, emitter=events)

    started, page, completed = payloads(await claim(store))

    assert (started[0], started[1]["status"]) == ("crawl.started", "running")
    assert page[0] == "crawl.page"
    assert (page[1]["url"], page[1]["title"], page[1]["fate"]) == (
        a_page("/1").url,
        "One",
        "fetched",
    )
    assert completed[0] == "crawl.completed"
    assert (completed[1]["found"], completed[1]["fetched"], completed[1]["failed"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("status", "told_as"),
    [
        (JobStatus.COMPLETED, "crawl.completed"),
        (JobStatus.CANCELLED, "crawl.completed"),
        (JobStatus.FAILED, "crawl.failed"),
    ],
)
async def test_the_end_is_told_once_with_the_status_of_the_job(
    store: Store, status: JobStatus, told_as: str
) -> None:
    events = await start(store, "/1")
    assert await store.ledger.finish_job("job", status, "why", emitter=events)
    assert not await store.ledger.finish_job("job", JobStatus.FAILED, emitter=events)

    ((event_type, data),) = payloads(await claim(store))
    assert (event_type, data["status"], data["error"]) == (told_as, status, "why")


async def test_workers_that_begin_together_tell_the_start_once(store: Store) -> None:
    events = await start(store, "/1", "/2", "/3")
    await asyncio.gather(
        *(store.ledger.lease("job", limits(count=1), emitter=events) for _ in range(3))
    )

    assert [due.event.type for due in await claim(store)] == ["crawl.started"]


async def test_a_page_that_turns_out_to_be_a_duplicate_is_told_as_one(store: Store) -> None:
    only_pages = replace(HOOK, events=frozenset({EventKind.PAGE}))
    events = await start(store, "/1", "/2", target=only_pages)
    result = PageResult(fate=PageStatus.FETCHED, content=ContentFingerprint(b"same"))
    for found in (await store.ledger.lease("job", limits(), emitter=events)).claims:
        page_commit = store.ledger.page_commit(
            found, lambda _: result, is_near=lambda _a, _b: False, emitter=events
        )
        await store.ledger.commit(page_commit)

    first, second = (data for _, data in payloads(await claim(store)))
    assert (first["fate"], second["fate"]) == ("fetched", "duplicate of")
    assert second["reason"] == f"{first['url']} (same content)"


async def test_a_redirect_tells_of_both_urls(store: Store) -> None:
    events = await start(store, "/old")
    landed = PageResult(fate=PageStatus.FETCHED, status_code=200, landed_on=a_page("/new"))
    await commit_all(store, events, landed)

    pages = {
        data["url"]: data for kind, data in payloads(await claim(store)) if kind == "crawl.page"
    }
    assert pages[a_page("/new").url]["fate"] == "fetched"
    assert pages[a_page("/old").url]["fate"] == "duplicate of"
    assert pages[a_page("/old").url]["reason"] == f"{a_page('/new').url} (redirect)"


async def test_nothing_is_told_of_what_was_not_written(store: Store, clock: Clock) -> None:
    events = await start(store, "/1")
    (frozen,) = (await store.ledger.lease("job", limits(seconds=10))).claims
    clock.move_on(timedelta(seconds=11))
    await store.ledger.lease("job", limits(seconds=10))

    with pytest.raises(LeaseLost):
        await store.ledger.commit(
            store.ledger.page_commit(
                frozen, lambda _: PageResult(fate=PageStatus.FETCHED), emitter=events
            )
        )
    assert await claim(store) == []


async def test_a_url_that_is_given_up_is_told(store: Store, clock: Clock) -> None:
    events = await start(store, "/poison")
    for is_alone in (False, True, True, True):
        await store.ledger.lease("job", limits(seconds=10, is_alone=is_alone), emitter=events)
        clock.move_on(timedelta(seconds=11))
    await store.ledger.lease("job", limits(), emitter=events)

    started, page = payloads(await claim(store))
    assert started[0] == "crawl.started"
    assert (page[1]["url"], page[1]["fate"]) == (a_page("/poison").url, "failed")


async def test_a_job_that_expires_before_it_is_over_tells_that_it_failed(
    store: Store, clock: Clock
) -> None:
    await start(store, "/1")
    clock.move_on(timedelta(days=3650))
    dropped = await store.ledger.drop_expired(clock.now, emitter_of=JobEvents.of)

    assert dropped == 1
    ((event_type, data),) = payloads(await claim(store))
    assert (event_type, data["status"]) == ("crawl.failed", "failed")


async def test_an_event_is_claimed_once_however_many_ask(store: Store) -> None:
    await add_events(store, 9)

    claims = await asyncio.gather(*(claim(store, 5) for _ in range(4)))
    claims.append(await claim(store))

    ids = [due.event.id for claimed in claims for due in claimed]
    assert len(ids) == len(set(ids)) == 9


async def test_a_claim_that_ran_out_goes_to_another_with_the_same_event(
    store: Store, clock: Clock
) -> None:
    await add_events(store, 1)
    (lost,) = await claim(store)
    clock.move_on(timedelta(seconds=59))
    assert await claim(store) == []
    clock.move_on(timedelta(seconds=1))
    (taken,) = await claim(store)

    assert taken.event == lost.event
    assert (lost.tries, taken.tries) == (1, 2)
    await store.outbox.mark_failed(lost, "too late", None)
    (waiting,) = await store.outbox.list_events("owner", "job", EventState.WAITING)
    assert (waiting.id, waiting.error) == (lost.event.id, None)


async def test_few_events_of_one_url_are_claimed_and_none_of_those_excepted(store: Store) -> None:
    await add_events(store, 5)
    other = replace(HOOK, url="https://other.test/hook")
    job = await store.ledger.add_job(a_told_job("other", other), [a_page("/1")])
    await store.ledger.finish_job("other", JobStatus.COMPLETED, emitter=events_of(job))

    excepted = await claim(store, but=(HOOK.url,))
    few = await claim(store, per_url=2)

    assert [due.event.url for due in excepted] == [other.url]
    assert [due.event.url for due in few] == [HOOK.url, HOOK.url]


async def test_a_delivered_event_is_listed_without_being_due_again(
    store: Store, clock: Clock
) -> None:
    await add_events(store, 1)
    (due,) = await claim(store)
    await store.outbox.mark_delivered(due)
    clock.move_on(timedelta(days=2))

    assert await claim(store) == []
    (listed,) = await store.outbox.list_events("owner", "job", EventState.DELIVERED)
    assert (listed.id, listed.tries, listed.next_at) == (due.event.id, 1, None)


async def test_an_event_that_failed_is_due_when_its_wait_is_over(
    store: Store, clock: Clock
) -> None:
    await add_events(store, 1)
    (due,) = await claim(store)
    await store.outbox.mark_failed(due, "The receiver answered 500", 10_000)

    (waiting,) = await store.outbox.list_events("owner", "job", EventState.WAITING)
    assert waiting.error == "The receiver answered 500"
    assert waiting.next_at is not None
    assert waiting.next_at - waiting.created_at == timedelta(seconds=10)
    clock.move_on(timedelta(seconds=9))
    assert await claim(store) == []
    clock.move_on(timedelta(seconds=1))
    assert [again.event for again in await claim(store)] == [due.event]


async def test_dead_events_are_their_owners_to_see_and_to_have_tried_anew(store: Store) -> None:
    await add_events(store, 2)
    for due in await claim(store):
        await store.outbox.mark_failed(due, "gone", None)

    assert await claim(store) == []
    assert await store.outbox.list_events("somebody else", "job", EventState.DEAD) == []
    assert await store.outbox.retry_dead("somebody else", "job") == 0
    dead = await store.outbox.list_events("owner", "job", EventState.DEAD)
    assert [event.error for event in dead] == ["gone", "gone"]
    assert await store.outbox.retry_dead("owner", "job") == 2
    assert {due.event.id for due in await claim(store)} == {event.id for event in dead}


async def test_events_are_dropped_a_week_after_they_were_dealt_with(
    store: Store, clock: Clock
) -> None:
    await add_events(store, 3)
    delivered, dead, _waiting = await claim(store)
    await store.outbox.mark_delivered(delivered)
    await store.outbox.mark_failed(dead, "gone", None)

    await store.ledger.drop_expired(clock.now + timedelta(days=6))
    assert len(await store.outbox.list_events("owner", "job", EventState.DEAD)) == 1
    await store.ledger.drop_expired(clock.now + timedelta(days=7))

    left = [await store.outbox.list_events("owner", "job", state) for state in EventState]
    assert [len(events) for events in left] == [1, 0, 0]


async def test_no_listing_shows_the_secret_or_what_is_sent_along(store: Store) -> None:
    target = replace(HOOK, headers=(("Authorization", "Bearer hidden"),))
    await add_events(store, 1, target)

    listed = await store.outbox.list_events("owner", "job", EventState.WAITING)
    (due,) = await claim(store)

    assert due.event.headers["Authorization"] == "Bearer hidden"
    shown = repr((listed, due, target))
    assert "hidden" not in shown
    assert target.secret not in shown + json.dumps(due.event.headers) + due.event.body
