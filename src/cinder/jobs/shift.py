"""A shift: one worker process at pgqueuer's queue, for as long as its connection lasts."""

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

import asyncpg
import structlog
from pgqueuer.core.qm import QueueManager
from pgqueuer.domain.errors import RetryRequested
from pgqueuer.domain.models import Job as Message
from pgqueuer.domain.types import Channel, QueueManagerId

from cinder.jobs.base import Attend
from cinder.jobs.messages import CHANNEL, ENTRYPOINT, Messages
from cinder.store.postgres import DRIVER_ERRORS

if TYPE_CHECKING:  # the driver's classes take parameters only in its stubs
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

PURGE_SECONDS = 60
# How long giving messages back may take at the end; who takes longer is taken over.
STOP_SECONDS = 10
# How soon to look again where all slots are taken; messages that come tell of themselves.
POLL_SECONDS = 0.5

log = structlog.get_logger()


class Shift:
    """Takes messages off the queue and looks after their jobs."""

    def __init__(
        self, connection: "Connection", attend: Attend, *, slots: int, worker_id: UUID
    ) -> None:
        self._connection = connection
        self._attend = attend
        self._slots = slots
        self._free = asyncio.Semaphore(slots)
        self._at_work: set[asyncio.Task[None]] = set()
        self._ending = asyncio.Event()
        self._messages = Messages(connection)
        self._manager = QueueManager(self._messages, Channel(CHANNEL))
        self._manager.queue_manager_id = QueueManagerId(worker_id)
        self._manager.min_dequeue_poll_interval = timedelta(seconds=POLL_SECONDS)
        self._manager.entrypoint(ENTRYPOINT, accepts_context=False)(self._handle)

    async def run(self, heartbeat_seconds: float) -> None:
        """Work until cancelled, or until the connection breaks."""
        self._connection.add_termination_listener(lambda _: self._manager.shutdown.set())
        # What an earlier shift of this worker could not give back.
        await self._messages.put_all_back(self._manager.queue_manager_id)
        async with asyncio.TaskGroup() as group:
            purging = group.create_task(self._purge_forever())
            work = group.create_task(self._manage(heartbeat_seconds))
            try:
                await asyncio.shield(work)
            except asyncio.CancelledError:
                self._stop()
                await asyncio.wait({work}, timeout=STOP_SECONDS)
                raise
            finally:
                purging.cancel()

    async def _manage(self, heartbeat_seconds: float) -> None:
        try:
            await self._manager.run(
                batch_size=1,
                # It wants twice the batch at least; the semaphore keeps to the real number.
                max_concurrent_tasks=max(2, self._slots),
                dequeue_timeout=timedelta(seconds=heartbeat_seconds / 2),
                heartbeat_timeout=timedelta(seconds=heartbeat_seconds),
                log_aggregation_interval=timedelta(0),
                shutdown_on_listener_failure=True,
            )
        # The outermost loop of a worker: whatever it was, another shift may go better.
        except Exception as exc:  # noqa: BLE001
            log.warning("the queue of jobs broke off", error=str(exc) or type(exc).__name__)

    def _stop(self) -> None:
        self._ending.set()
        self._manager.shutdown.set()
        for task in self._at_work:
            task.cancel()

    async def _handle(self, message: Message) -> None:
        """Look after a message's job; the message is put back unless the job is over."""
        task = asyncio.current_task()
        if self._ending.is_set() or task is None:
            raise RetryRequested
        self._at_work.add(task)
        try:
            async with self._free:
                seconds = await self._attend((message.payload or b"").decode())
        except asyncio.CancelledError:
            if not self._ending.is_set():
                raise
            # Others get the message at once; pgqueuer would drop it.
            task.uncancel()
            raise RetryRequested from None
        finally:
            self._at_work.discard(task)
        if seconds is not None:
            raise RetryRequested(timedelta(seconds=seconds))

    async def _purge_forever(self) -> None:
        try:
            while True:
                await self._messages.purge_log()
                await asyncio.sleep(PURGE_SECONDS)
        except DRIVER_ERRORS as exc:
            log.warning("the log of messages is not purged", error=str(exc))
