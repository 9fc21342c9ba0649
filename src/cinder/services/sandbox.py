"""The sandbox: extraction in child processes, so that no page can harm or hold up the server."""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Self, TypeVar

import structlog

from cinder.errors import InvalidRequest, ParseLimitExceeded, Unsupported
from cinder.extract.branding_wire import (
    branding_job,
    read_brand,
    read_stylesheets,
    stylesheets_job,
)
from cinder.extract.change_wire import compare_job, read_comparison
from cinder.extract.facts import HtmlFacts
from cinder.extract.options import ExtractOptions
from cinder.extract.wire import (
    PREFIX_BYTES,
    MalformedMessage,
    Message,
    extract_job,
    inspect_job,
    pdf_job,
    read_extraction,
    read_facts,
    read_header,
    read_header_size,
    read_invalid,
    read_unsupported,
)
from cinder.model.change import Comparison
from cinder.model.document import Extraction, FetchedPage, Json

_START_TIMEOUT_SECONDS = 30.0
_STREAM_BUFFER_BYTES = 1024 * 1024

# Tells whether a child has ended without taking its end away from the event loop.
_PEEK = os.WEXITED | os.WNOHANG | os.WNOWAIT if sys.platform == "linux" else 0

# A child that died closes its pipe; one that was taken over may send anything.
_WORKER_FAILURES = (EOFError, OSError, MalformedMessage)

T = TypeVar("T")

log = structlog.get_logger()


class _JobFailed(Exception):
    """A child met something that extraction did not foresee, said so, and goes on."""


class _Worker:
    """One child process; it does one job at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.jobs_done = 0

    @classmethod
    async def start(cls, memory_bytes: int) -> Self:
        """Start a child; it says `ready` when it can take a job."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-X", "utf8", "-m", "cinder.extract.worker"),
            *(str(memory_bytes), str(os.getpid())),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={},
            limit=_STREAM_BUFFER_BYTES,
        )
        return cls(process)

    async def await_ready(self) -> None:
        """Wait until the child has loaded what it needs."""
        async with asyncio.timeout(_START_TIMEOUT_SECONDS):
            await self._receive()

    async def run(self, job: Message) -> Message:
        """Have a job done and return the answer."""
        assert self._process.stdin is not None  # noqa: S101 - it was opened as a pipe
        self._process.stdin.writelines(job.frame())
        await self._process.stdin.drain()
        answer = await self._receive()
        self.jobs_done += 1
        return answer

    @property
    def is_alive(self) -> bool:
        """Whether the child still runs; asks the system, as the event loop learns of it later."""
        if self._process.returncode is not None or sys.platform != "linux":
            return self._process.returncode is None
        try:
            return os.waitid(os.P_PID, self._process.pid, _PEEK) is None
        except ChildProcessError:
            return False

    def kill(self) -> None:
        """End the child at once; whoever waits for its answer learns of it."""
        # Killing one that has ended would take its exit status from the event loop, which warns.
        if self.is_alive:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def end(self) -> None:
        """Kill the child and wait until nothing is left of it."""
        self.kill()
        # Reads what is left in the pipe as well: an unread pipe would keep its transport open.
        await self._process.communicate()

    async def _receive(self) -> Message:
        assert self._process.stdout is not None  # noqa: S101 - it was opened as a pipe
        read = self._process.stdout.readexactly
        raw_header = await read(read_header_size(await read(PREFIX_BYTES)))
        kind, header, sizes = read_header(raw_header)
        return Message(kind, header, tuple([await read(size) for size in sizes]))


class ExtractionSandbox:
    """Runs extraction in a bounded number of child processes, started when first needed.

    A child is killed when a job overruns its time or its caller goes away. It is replaced after
    that, after it died, and after `jobs_per_worker` jobs, lest it leaks. `settings` is what the
    names of the settings begin with that a message tells to raise.
    """

    def __init__(
        self,
        workers: int,
        timeout_seconds: float,
        memory_bytes: int,
        *,
        jobs_per_worker: int = 1_000,
        settings: str = "scrape.extract",
    ) -> None:
        self._workers = workers
        self._timeout_seconds = timeout_seconds
        self._memory_bytes = memory_bytes
        self._jobs_per_worker = jobs_per_worker
        self._settings = settings
        self._permits = asyncio.Semaphore(workers)
        self._idle: list[_Worker] = []
        self._alive: set[_Worker] = set()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_closed = True
        for worker in self._alive:
            worker.kill()
        # Whoever still waits for a killed child gives its permit back as it learns of that.
        for _permit in range(self._workers):
            await self._permits.acquire()
        for worker in tuple(self._alive):
            await self._end(worker)

    @property
    def is_busy(self) -> bool:
        """Whether every child has a job, so that the next one waits."""
        return self._permits.locked()

    async def extract(self, page: FetchedPage, options: ExtractOptions) -> Extraction:
        """Turn a fetched page into content.

        Raises:
            InvalidRequest: one of the caller's selectors is not valid.
            ParseLimitExceeded: the page took too long or too much memory.
        """
        content_type = page.headers.get("content-type", "")
        job = extract_job(page.body, content_type, page.final_url, options)
        try:
            return await self._ask(job, read_extraction, page.url)
        except _JobFailed as failure:
            log.error("extraction failed", url=page.url, reason=str(failure))  # noqa: TRY400 - the child's traceback stays with it
            warning = f"The page was fetched, but its content could not be cleaned: {failure}."
            text = page.body.decode(errors="replace").replace("\0", "\ufffd")
            # Counted roughly: enough to tell that the page is not an empty one.
            return Extraction(text=text, word_count=len(text.split()), warnings=(warning,))

    async def extract_pdf(
        self, page: FetchedPage, options: ExtractOptions, max_pages: int
    ) -> Extraction:
        """Turn a fetched PDF into content.

        Raises:
            ParseLimitExceeded: the file took too long or too much memory.
            Unsupported: the file is encrypted, broken, or no PDF.
        """
        job = pdf_job(page.body, page.final_url, options, max_pages)
        try:
            return await self._ask(job, read_extraction, page.url)
        except _JobFailed as failure:
            log.error("parsing a PDF failed", url=page.url, reason=str(failure))  # noqa: TRY400 - the child's traceback stays with it
            raise ParseLimitExceeded(f"The PDF could not be parsed: {failure}") from failure

    async def inspect(self, html: str, base_url: str) -> HtmlFacts:
        """Return the facts about an HTML string.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
        """
        try:
            return await self._ask(inspect_job(html, base_url), read_facts, None)
        except _JobFailed as failure:
            raise ParseLimitExceeded(f"The HTML could not be parsed: {failure}") from failure

    async def find_stylesheets(self, page: FetchedPage) -> list[str]:
        """Return the addresses of the style sheets that a page links to.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
        """
        return await self._ask_or_limit(stylesheets_job(page), read_stylesheets, page.url)

    async def read_branding(self, page: FetchedPage, sheets: Sequence[str]) -> Mapping[str, Json]:
        """Return a page's branding, given the style sheets that it links to.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
        """
        return await self._ask_or_limit(branding_job(page, sheets), read_brand, page.url)

    async def compare(self, before: str, after: str, url: str) -> Comparison:
        """Return how two versions of a page differ.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
        """
        return await self._ask_or_limit(compare_job(before, after), read_comparison, url)

    async def _ask_or_limit(self, job: Message, read: Callable[[Message], T], url: str) -> T:
        """Return the answer to a job of which there is no less to be had when it fails."""
        try:
            return await self._ask(job, read, url)
        except _JobFailed as failure:
            message = f"The job '{job.kind}' on {url} failed: {failure}"
            raise ParseLimitExceeded(message, url=url) from failure

    async def _ask(self, job: Message, read: Callable[[Message], T], url: str | None) -> T:
        subject = url or "the HTML"
        try:
            async with self._borrow() as worker, asyncio.timeout(self._timeout_seconds):
                outcome = _read_outcome(await worker.run(job), read)
        except TimeoutError:
            raise ParseLimitExceeded(
                f"Turning {subject} into content took longer than {self._timeout_seconds:g} s "
                f"(setting {self._settings}-timeout-seconds).",
                url=url,
            ) from None
        except _WORKER_FAILURES as exc:
            raise ParseLimitExceeded(
                f"Turning {subject} into content failed, most likely because it needs more than "
                f"{self._memory_bytes} bytes of memory (setting {self._settings}-memory-bytes).",
                url=url,
            ) from exc
        if isinstance(outcome, InvalidRequest | Unsupported | _JobFailed):
            raise outcome
        return outcome

    @asynccontextmanager
    async def _borrow(self) -> AsyncIterator[_Worker]:
        async with self._permits:
            worker = await self._take_idle() or await self._start()
            try:
                yield worker
            except BaseException:
                # Its pipe is out of step with us, whatever the reason.
                await self._end(worker)
                raise
            if worker.jobs_done < self._jobs_per_worker:
                self._idle.append(worker)
            else:
                await self._end(worker)

    async def _take_idle(self) -> _Worker | None:
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
            await self._end(worker)
        return None

    async def _start(self) -> _Worker:
        if self._is_closed:
            raise ParseLimitExceeded("The server is stopping; send the request again later.")
        worker = await _Worker.start(self._memory_bytes)
        self._alive.add(worker)
        try:
            await worker.await_ready()
        except BaseException as exc:
            await self._end(worker)
            if isinstance(exc, _WORKER_FAILURES):
                raise ParseLimitExceeded(
                    "The process that turns pages into content could not start; is "
                    f"{self._settings}-memory-bytes too low?"
                ) from exc
            raise
        return worker

    async def _end(self, worker: _Worker) -> None:
        await worker.end()
        self._alive.discard(worker)


@dataclass(frozen=True, slots=True)
class Sandboxes:
    """Where pages are turned into content and, so that none waits for them, PDF documents."""

    pages: ExtractionSandbox
    pdfs: ExtractionSandbox


def _read_outcome(
    answer: Message, read: Callable[[Message], T]
) -> T | InvalidRequest | Unsupported | _JobFailed:
    if answer.kind == "invalid":
        return read_invalid(answer)
    if answer.kind == "unsupported":
        return read_unsupported(answer)
    if answer.kind == "failed":
        return _JobFailed(str(answer.header.get("reason"))[:200])
    return read(answer)
