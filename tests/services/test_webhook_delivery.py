"""Delivery of webhooks to a real receiver on loopback, through the egress proxy."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from cinder.fetch.http_client import ClientOptions, ProxiedClient
from cinder.models.job import JobKind, NewJob, NewPage, PageResult, PageStatus
from cinder.models.webhook import EventListing, EventState, WebhookTarget, write_target
from cinder.services.webhook_delivery import DeliveryLimits, WebhookDelivery
from cinder.services.webhooks import SPEC_KEY, JobEvents
from cinder.store import open_store
from cinder.store.documents import Store
from tests.egress.loopback import Origin, Reader, Writer, open_origin, open_proxy, read_request
from tests.services.claiming import claim_and_be_killed
from tests.services.receiver import SECRET, Receiver, receiving
from tests.site import Canary
from tests.store.ledger.samples import a_page, limits
from tests.store.samples import Clock

WAIT_SECONDS = 60
# The poll must never be what a test waits for.
LIMITS = DeliveryLimits(poll_seconds=WAIT_SECONDS)
FIRST_WAIT, *_ = LIMITS.retry_waits_seconds


@dataclass(frozen=True)
class Sender:
    """A store with webhooks to deliver from it."""

    store: Store
    clock: Clock
    webhooks: WebhookDelivery

    async def tell(self, url: str, *, pages: int = 1, job_id: str = "job") -> None:
        """Have a job tell of its pages."""
        new = [a_page(f"/{n}") for n in range(pages)]
        await tell_of_pages(self.store, url, new, job_id)

    async def list(self, state: EventState) -> list[EventListing]:
        return await self.webhooks.list_events("owner", "job", state)

    async def only(self, state: EventState) -> EventListing:
        (event,) = await self.list(state)
        return event

    async def seconds_to_wait(self) -> float:
        waiting = await self.only(EventState.WAITING)
        assert waiting.next_at is not None
        return (waiting.next_at - self.clock.now).total_seconds()


async def tell_of_pages(store: Store, url: str, pages: list[NewPage], job_id: str) -> None:
    target = WebhookTarget(url=url, secret=SECRET)
    new = NewJob(
        id=job_id,
        kind=JobKind.CRAWL,
        owner="owner",
        spec={SPEC_KEY: write_target(target)},
        expires_at=Clock().now + timedelta(days=30),
        max_pages=1000,
    )
    events = JobEvents.of(await store.ledger.add_job(new, pages))
    result = PageResult(fate=PageStatus.FETCHED, status_code=200, title="Ember care")
    for claim in (await store.ledger.lease(job_id, limits(count=1000))).claims:
        await store.ledger.commit(store.ledger.page_commit(claim, lambda _: result, emitter=events))


OPTIONS = ClientOptions(max_concurrency=16, timeout_seconds=10)


def url_in(path: Path) -> str:
    return f"sqlite:///{path / 'cinder.db'}"


@asynccontextmanager
async def open_sender(
    path: Path, *allow: str, limits: DeliveryLimits = LIMITS, drawn: float = 0.5
) -> AsyncIterator[Sender]:
    clock = Clock()
    async with (
        open_store(url_in(path), pool_size=2, observe=lambda _n, _s: None, clock=clock) as store,
        open_proxy(*allow) as proxy,
        ProxiedClient(proxy.proxy, OPTIONS) as client,
        asyncio.timeout(WAIT_SECONDS),
    ):
        yield Sender(
            store, clock, WebhookDelivery(store.outbox, client, limits, draw=lambda: drawn)
        )


async def test_an_event_arrives_once_signed_and_under_its_id(tmp_path: Path) -> None:
    async with receiving(Receiver()) as receiver, open_sender(tmp_path, receiver.address) as sender:
        await sender.tell(receiver.url)
        tries = await sender.webhooks.deliver_due()
        sender.clock.move_on(timedelta(days=1))
        later = await sender.webhooks.deliver_due()
        delivered = await sender.only(EventState.DELIVERED)

    (message,) = receiver.messages
    assert (tries, later) == (1, 0)
    assert message.is_genuine
    assert message.headers["x-cinder-delivery"] == message.event["id"] == delivered.id
    assert message.headers["x-cinder-event"] == message.event["type"] == "crawl.page"
    assert message.headers["content-type"] == "application/json"
    assert message.headers["user-agent"].startswith("cinder-webhooks/")
    assert message.event["data"] == {
        "jobId": "job",
        "url": a_page("/0").url,
        "fate": "fetched",
        "reason": None,
        "statusCode": 200,
        "verdict": None,
        "title": "Ember care",
        "savedUris": [],
    }


async def test_a_receiver_that_fails_is_tried_again_with_the_same_bytes(tmp_path: Path) -> None:
    receiver = Receiver(statuses=[500, 200])
    async with receiving(receiver), open_sender(tmp_path, receiver.address) as sender:
        await sender.tell(receiver.url)
        await sender.webhooks.deliver_due()
        waiting = await sender.only(EventState.WAITING)
        at_once = await sender.webhooks.deliver_due()
        sender.clock.move_on(timedelta(seconds=FIRST_WAIT))
        await sender.webhooks.deliver_due()
        delivered = await sender.only(EventState.DELIVERED)

    first, second = receiver.messages
    assert (waiting.error, waiting.tries, at_once) == ("The receiver answered 500", 1, 0)
    assert (first.body, first.headers) == (second.body, second.headers)
    assert (delivered.tries, delivered.error) == (2, None)


async def test_a_receiver_that_is_down_gets_its_event_when_it_is_up(tmp_path: Path) -> None:
    async with receiving(Receiver()) as receiver:
        pass
    async with open_sender(tmp_path, receiver.address) as sender:
        await sender.tell(receiver.url)
        await sender.webhooks.deliver_due()
        waiting = await sender.only(EventState.WAITING)
        sender.clock.move_on(timedelta(seconds=FIRST_WAIT))
        async with receiving(receiver):
            await sender.webhooks.deliver_due()

    assert waiting.error is not None
    assert "connect" in waiting.error.lower()
    assert receiver.ids == [waiting.id]


async def test_an_event_whose_sender_was_killed_before_sending_comes_from_another(
    tmp_path: Path,
) -> None:
    receiver = Receiver()
    async with receiving(receiver), open_sender(tmp_path, receiver.address) as sender:
        await sender.tell(receiver.url)
        (told,) = await sender.list(EventState.WAITING)
        claimed = await claim_and_be_killed(url_in(tmp_path))
        too_soon = await sender.webhooks.deliver_due()
        sender.clock.move_on(timedelta(seconds=LIMITS.lease_seconds))
        await sender.webhooks.deliver_due()

    assert (claimed, too_soon) == (1, 0)
    assert receiver.ids == [told.id]


async def test_a_sender_that_ends_in_the_middle_leaves_the_event_to_the_next(
    tmp_path: Path,
) -> None:
    seen: list[bytes] = []
    arrived = asyncio.Event()

    async def hang(origin: Origin, reader: Reader, writer: Writer) -> None:
        await read_request(origin, reader)
        seen.append(origin.bodies[-1])
        arrived.set()
        await reader.read()

    receiver = Receiver()
    async with open_origin(hang) as origin:
        receiver.port = origin.port
        async with open_sender(tmp_path, receiver.address) as sender:
            await sender.tell(receiver.url)
            async with asyncio.TaskGroup() as group:
                delivering = group.create_task(sender.webhooks.deliver_forever())
                await arrived.wait()
                delivering.cancel()
    async with receiving(receiver), open_sender(tmp_path, receiver.address) as sender:
        too_soon = await sender.webhooks.deliver_due()
        sender.clock.move_on(timedelta(seconds=LIMITS.lease_seconds))
        await sender.webhooks.deliver_due()

    assert too_soon == 0
    assert [message.body for message in receiver.messages] == seen


async def test_a_private_address_is_refused_and_the_dead_letter_says_why(
    tmp_path: Path, canary: Canary
) -> None:
    async with open_sender(tmp_path) as sender:
        await sender.tell(f"http://127.0.0.1:{canary.port}/hook")
        await sender.webhooks.deliver_due()
        dead = await sender.only(EventState.DEAD)

    assert not canary.was_reached()
    assert dead.error is not None
    assert f"No answer from 127.0.0.1:{canary.port}: It may not be connected to" in dead.error
    assert "CINDER_EGRESS__ALLOW" in dead.error


async def test_a_receiver_that_is_gone_is_not_tried_again(tmp_path: Path) -> None:
    receiver = Receiver(statuses=[410])
    async with receiving(receiver), open_sender(tmp_path, receiver.address) as sender:
        await sender.tell(receiver.url)
        await sender.webhooks.deliver_due()
        dead = await sender.only(EventState.DEAD)

    assert dead.error == "The receiver answered 410: it wants no more events"
    assert len(receiver.messages) == 1


async def test_a_redirect_is_a_failure_and_nobody_follows_it(
    tmp_path: Path, canary: Canary
) -> None:
    location = b"Location: http://127.0.0.1:%d/" % canary.port
    receiver = Receiver(statuses=[307], headers=(location,))
    pairs = f"127.0.0.1:{canary.port}"
    async with receiving(receiver), open_sender(tmp_path, receiver.address, pairs) as sender:
        await sender.tell(receiver.url)
        await sender.webhooks.deliver_due()
        waiting = await sender.only(EventState.WAITING)

    assert waiting.error == "The receiver answered 307; redirects are not followed"
    assert not canary.was_reached()


async def test_after_a_day_of_tries_an_event_is_dead_and_can_be_tried_anew(tmp_path: Path) -> None:
    receiver = Receiver(statuses=[503])
    async with receiving(receiver), open_sender(tmp_path, receiver.address) as sender:
        await sender.tell(receiver.url)
        for wait in LIMITS.retry_waits_seconds:
            assert await sender.webhooks.deliver_due() == 1
            assert await sender.seconds_to_wait() == pytest.approx(wait, abs=0.001)
            sender.clock.move_on(timedelta(seconds=wait))
        assert await sender.webhooks.deliver_due() == 1
        dead = await sender.only(EventState.DEAD)
        sender.clock.move_on(timedelta(days=1))
        assert await sender.webhooks.deliver_due() == 0

        receiver.statuses = [200]
        assert await sender.webhooks.retry_dead("owner", "job") == 1
        await sender.webhooks.deliver_due()
        delivered = await sender.only(EventState.DELIVERED)

    tries = len(LIMITS.retry_waits_seconds) + 1
    assert (dead.tries, dead.error) == (tries, "The receiver answered 503")
    assert receiver.ids == [dead.id] * (tries + 1)
    assert delivered.id == dead.id
    assert 23 * 3600 < sum(LIMITS.retry_waits_seconds) < 25 * 3600


@pytest.mark.parametrize(("drawn", "share"), [(0.0, 0.8), (1.0, 1.2)])
async def test_waits_differ_by_up_to_a_fifth(tmp_path: Path, drawn: float, share: float) -> None:
    receiver = Receiver(statuses=[500])
    async with (
        receiving(receiver),
        open_sender(tmp_path, receiver.address, drawn=drawn) as sender,
    ):
        await sender.tell(receiver.url)
        await sender.webhooks.deliver_due()
        waits = await sender.seconds_to_wait()

    assert waits == pytest.approx(FIRST_WAIT * share, abs=0.001)


async def test_an_event_whose_senders_all_ended_is_given_up(tmp_path: Path) -> None:
    receiver = Receiver()
    async with receiving(receiver), open_sender(tmp_path, receiver.address) as sender:
        await sender.tell(receiver.url)
        for _ in range(len(LIMITS.retry_waits_seconds) + 1):
            assert await sender.store.outbox.claim(1, per_url=1, but=(), seconds=60)
            sender.clock.move_on(timedelta(seconds=60))
        await sender.webhooks.deliver_due()
        dead = await sender.only(EventState.DEAD)

    assert dead.error == "Every try was made, and how the last one went is not known"
    assert receiver.messages == []


async def test_two_senders_share_the_work_and_double_none_of_it(tmp_path: Path) -> None:
    receiver = Receiver()
    async with (
        receiving(receiver),
        open_sender(tmp_path, receiver.address) as one,
        open_sender(tmp_path, receiver.address) as two,
    ):
        await one.tell(receiver.url, pages=40)
        tries = await asyncio.gather(one.webhooks.deliver_due(), two.webhooks.deliver_due())
        left = await one.list(EventState.WAITING)

    assert left == []
    assert sum(tries) == 40
    assert len(set(receiver.ids)) == len(receiver.ids) == 40


async def test_a_receiver_that_hangs_does_not_hold_up_another(tmp_path: Path) -> None:
    hanging = asyncio.Event()

    async def hang(origin: Origin, reader: Reader, writer: Writer) -> None:
        hanging.set()
        await reader.read()

    tight = replace(LIMITS, concurrency=4, per_url=2)
    async with (
        open_origin(hang) as slow,
        receiving(Receiver()) as receiver,
        open_sender(tmp_path, slow.pair, receiver.address, limits=tight) as sender,
    ):
        await sender.tell(slow.url, pages=10)
        await sender.tell(receiver.url, pages=5, job_id="other")
        async with asyncio.TaskGroup() as group:
            delivering = group.create_task(sender.webhooks.deliver_forever())
            await hanging.wait()
            await receiver.received(5)
            delivering.cancel()

    assert len(set(receiver.ids)) == 5


async def test_a_database_that_is_away_is_waited_for(tmp_path: Path) -> None:
    async with receiving(Receiver()) as receiver:
        async with open_sender(tmp_path, receiver.address) as closed:
            await closed.tell(receiver.url)
        without = await closed.webhooks.deliver_due()
        async with open_sender(tmp_path, receiver.address) as sender:
            await sender.webhooks.deliver_due()

    assert without == 0
    assert len(receiver.messages) == 1


async def test_a_waiting_sender_is_woken_by_what_is_told(tmp_path: Path) -> None:
    patient = replace(LIMITS, poll_seconds=3600)
    receiver = Receiver()
    async with (
        receiving(receiver),
        open_sender(tmp_path, receiver.address, limits=patient) as sender,
        asyncio.TaskGroup() as group,
    ):
        delivering = group.create_task(sender.webhooks.deliver_forever())
        await sender.tell(receiver.url)
        sender.webhooks.wake()
        await receiver.received(1)
        delivering.cancel()

    assert len(receiver.messages) == 1


async def test_a_secret_is_in_no_log_and_no_repr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver = Receiver(statuses=[500])
    async with receiving(receiver), open_sender(tmp_path, receiver.address) as sender:
        await sender.tell(receiver.url)
        await sender.webhooks.deliver_due()

    printed = "".join(capsys.readouterr())
    assert "webhook put off" in printed
    assert SECRET not in printed
    assert "hidden" not in printed
