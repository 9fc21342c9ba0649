"""Runs the hostile cases against a real server and prints what each took, and what others felt."""

import asyncio
import itertools
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from bench.hostile.cases import Case, read_cases
from bench.hostile.memory import watch_memory
from bench.hostile.website import run_hostile_website
from bench.website import run_website
from tests.api.running import RunningServer, run_server

PAGE_BYTES = 60_000
ALONE = 200
AT_ONCE = 4
# Two cores parse hostile and ordinary pages alike, so that some waiting is their due.
BAR_RATIO = 3
BAR_MS = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a case came to."""

    case: Case
    code: str
    is_partial: bool
    seconds: float
    output_bytes: int
    server_mb: float = 0
    child_mb: float = 0

    @property
    def faults(self) -> list[str]:
        """What of the answer is beyond the case's limits."""
        case = self.case
        found = [] if self.code in case.codes else [f"code not in {'|'.join(sorted(case.codes))}"]
        for name, value, limit in (
            ("s", self.seconds, case.max_seconds),
            ("MB", max(self.server_mb, self.child_mb), case.max_rss_mb),
            ("bytes", self.output_bytes, case.max_output_bytes),
        ):
            if value > limit:
                found.append(f"over {limit:g} {name}")
        return found


async def bench_hostile(data: Path) -> None:
    """Print each case's outcome, and ordinary scrapes' times alone and beside the cases."""
    data = data / "hostile"
    if not (data / "bad_inputs.jsonl").exists():
        print(f"hostile pages: not run, {data} has no inputs: name their folder by DATA=")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with (
            run_hostile_website(data, folder) as hostile,
            run_website(PAGE_BYTES) as website,
            run_server(
                folder / "served", CINDER_EGRESS__ALLOW=f"{hostile},{website.address}"
            ) as server,
            server.client() as client,
        ):
            await _run(server, client, read_cases(data), hostile, website.address)


async def _run(
    server: RunningServer,
    client: httpx2.AsyncClient,
    cases: Sequence[Case],
    hostile: str,
    ordinary: str,
) -> None:
    pages = itertools.count()
    await _scrape_ordinary(client, ordinary, pages, 20)
    alone = await _scrape_ordinary(client, ordinary, pages, ALONE)
    async with _ordinary_beside(client, ordinary, pages) as beside_one:
        answers = [await _measure(server, client, case, hostile) for case in cases]
    async with _ordinary_beside(client, ordinary, pages) as beside_many:
        at_once = await _run_at_once(client, cases, hostile)
    for answer in answers:
        _print_answer(answer)
    _print_summary("one after the other", answers)
    _print_summary(f"{AT_ONCE} at once", at_once)
    print(f"ordinary scrapes alone: {_describe(alone)}")
    for name, times in (("beside 1 hostile page", beside_one), (f"beside {AT_ONCE}", beside_many)):
        bar = max(BAR_RATIO * _p95(alone), BAR_MS / 1000)
        verdict = "undisturbed" if _p95(times) <= bar else "DISTURBED"
        print(f"ordinary scrapes {name}: {_describe(times)}, bar {bar * 1000:.0f} ms: {verdict}")


async def _measure(
    server: RunningServer, client: httpx2.AsyncClient, case: Case, address: str
) -> Answer:
    async with watch_memory(server.process.pid) as peak:
        answer = await _ask(client, case, address)
    return Answer(
        case=case,
        code=answer.code,
        is_partial=answer.is_partial,
        seconds=answer.seconds,
        output_bytes=answer.output_bytes,
        server_mb=peak.server_mb,
        child_mb=peak.child_mb,
    )


async def _run_at_once(
    client: httpx2.AsyncClient, cases: Sequence[Case], address: str
) -> list[Answer]:
    left, answers = iter(cases), list[Answer]()

    async def work() -> None:
        for case in left:
            answers.append(await _ask(client, case, address))

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())
    return answers


async def _ask(client: httpx2.AsyncClient, case: Case, address: str) -> Answer:
    started = time.perf_counter()
    response = await client.post("/api/v2/scrape", json=case.body(address))
    seconds = time.perf_counter() - started
    answer = response.json()
    return Answer(
        case=case,
        code="OK" if response.is_success else answer["error"]["code"],
        is_partial="could not be cleaned" in response.text,
        seconds=seconds,
        output_bytes=len(response.content),
    )


@asynccontextmanager
async def _ordinary_beside(
    client: httpx2.AsyncClient, address: str, pages: "itertools.count[int]"
) -> AsyncIterator[list[float]]:
    """Scrape ordinary pages, one after the other, until the exit; their times are what is given."""
    times: list[float] = []

    async def scrape_on() -> None:
        while True:
            times.extend(await _scrape_ordinary(client, address, pages, 1))

    async with asyncio.TaskGroup() as group:
        scraping = group.create_task(scrape_on())
        try:
            yield times
        finally:
            scraping.cancel()


async def _scrape_ordinary(
    client: httpx2.AsyncClient, address: str, pages: "itertools.count[int]", count: int
) -> list[float]:
    times = []
    for number in itertools.islice(pages, count):
        started = time.perf_counter()
        body = {"url": f"http://{address}/{number}", "forceRescrape": True}
        response = await client.post("/api/v2/scrape", json=body)
        times.append(time.perf_counter() - started)
        assert f"Article {number}" in response.text
    return times


def _print_answer(answer: Answer) -> None:
    outcome = f"{answer.code}{' (bare text)' if answer.is_partial else ''}"
    print(
        f"  {answer.case.category:9} {answer.case.path:28} {outcome:22} {answer.seconds:6.2f} s "
        f"server {answer.server_mb:4.0f} MB child {answer.child_mb:4.0f} MB "
        f"{'; '.join(answer.faults) or 'pass'}"
    )


def _print_summary(name: str, answers: Sequence[Answer]) -> None:
    failed = [answer for answer in answers if answer.faults]
    slowest = max(answers, key=lambda answer: answer.seconds)
    print(
        f"hostile cases, {name}: {len(answers) - len(failed)} of {len(answers)} within their "
        f"limits, slowest {slowest.case.path} {slowest.seconds:.1f} s"
    )
    for answer in failed:
        print(f"  {answer.case.path}: {answer.code}, {'; '.join(answer.faults)}")


def _describe(times: Sequence[float]) -> str:
    return (
        f"p50 {statistics.median(times) * 1000:.0f} ms, p95 {_p95(times) * 1000:.0f} ms, "
        f"most {max(times) * 1000:.0f} ms of {len(times)}"
    )


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]
