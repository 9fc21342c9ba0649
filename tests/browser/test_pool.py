"""Pools: the number of browsers, the queue for them, and their cleanup."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from cinder.app.composition import open_app
from cinder.browser.pool import PoolState
from cinder.errors import BrowserUnavailable, CinderError, Overloaded
from cinder.models.request import Profile
from tests.api.running import run_server
from tests.browser.conftest import browser_settings
from tests.browser.processes import (
    browsers_on,
    descendants,
    is_ended,
    open_files,
    processes_of,
    reap_orphans,
    until,
)
from tests.browser.runtime import Runtime, open_runtime, scrape
from tests.site import Site


@asynccontextmanager
async def a_runtime(folder: Path, **browser: object) -> AsyncIterator[Runtime]:
    async with open_runtime(browser_settings(folder, **browser)) as runtime:
        yield runtime


def slaves(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "browser").glob("slave_*"))


async def test_no_browser_starts_before_a_page_needs_one(tmp_path: Path, website: Site) -> None:
    async with a_runtime(tmp_path) as runtime:
        assert runtime.browsers() == []
        await runtime.render(website.url("/article"))
        await until(lambda: runtime.pool.state == PoolState(workers=1, busy=0, waiting=0))
        assert len(runtime.browsers()) == 1


async def test_eight_renders_at_once_share_two_browsers(tmp_path: Path, website: Site) -> None:
    async with a_runtime(tmp_path, worker_pool_max_size_per_process=2) as runtime:
        most = 0
        async with asyncio.TaskGroup() as tasks:
            renders = [
                tasks.create_task(runtime.render(website.url(f"/numbered?n={n}"))) for n in range(8)
            ]
            while not all(render.done() for render in renders):
                most = max(most, len(runtime.browsers()))
                await asyncio.sleep(0.02)
        assert [f"Ember {n}".encode() in r.result().body for n, r in enumerate(renders)] == [
            True
        ] * 8
        assert most == 2
        await until(lambda: runtime.pool.state == PoolState(workers=2, busy=0, waiting=0))


async def test_a_page_that_no_browser_comes_free_for_is_refused_as_overloaded(
    tmp_path: Path, website: Site
) -> None:
    settings = {"worker_pool_max_size_per_process": 1, "queue_offer_timeout_ms": 50}
    async with a_runtime(tmp_path, **settings) as runtime, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(runtime.render(website.url("/silent")))
        await website.asked("/silent")
        with pytest.raises(Overloaded):
            await runtime.render(website.url("/article"))
        assert runtime.pool.state == PoolState(workers=1, busy=1, waiting=0)
        website.release()
        await first
        await until(lambda: not runtime.pool.state.busy)
        assert await runtime.render(website.url("/article"))


async def test_a_browser_is_replaced_after_its_last_page(tmp_path: Path, website: Site) -> None:
    async with a_runtime(tmp_path, worker_max_pages=2) as runtime:
        used = set()
        for _ in range(4):
            await runtime.render(website.url("/article"))
            used |= {browser.pid for browser in runtime.browsers()}
            await until(lambda: not runtime.pool.state.busy)
        assert (len(used), runtime.recycled("pages")) == (2, 2)
        assert (runtime.browsers(), slaves(tmp_path)) == ([], [])


async def test_the_least_number_is_kept_running_and_a_killed_idle_one_replaced(
    tmp_path: Path,
) -> None:
    async with a_runtime(tmp_path, worker_pool_min_size_per_process=2) as runtime:
        await until(lambda: runtime.pool.state.workers == 2)
        first, second = runtime.browsers()
        first.kill()
        await until(lambda: runtime.recycled("unfit") == 1 and runtime.pool.state.workers == 2)
        assert second in runtime.browsers()
        assert (len(runtime.browsers()), len(slaves(tmp_path))) == (2, 2)


async def test_the_least_number_never_exceeds_the_most(tmp_path: Path, website: Site) -> None:
    sizes = {"worker_pool_min_size_per_process": 3, "worker_pool_max_size_per_process": 1}
    async with a_runtime(tmp_path, **sizes) as runtime:
        await runtime.render(website.url("/article"))
        await until(lambda: runtime.pool.state == PoolState(workers=1, busy=0, waiting=0))
        await runtime.render(website.url("/article"))
        assert len(runtime.browsers()) == 1


async def test_idle_browsers_beyond_the_least_number_are_closed(
    tmp_path: Path, website: Site
) -> None:
    settings = {"worker_idle_ms": 0, "worker_pool_min_size_per_process": 1}
    async with a_runtime(tmp_path, **settings) as runtime:
        await asyncio.gather(*(runtime.render(website.url("/article")) for _ in range(3)))
        await until(lambda: runtime.pool.state == PoolState(workers=1, busy=0, waiting=0))
        await until(lambda: len(runtime.browsers()) == len(slaves(tmp_path)) == 1)
        assert runtime.recycled("idle") >= 1


async def test_an_idle_browser_that_was_killed_costs_the_next_page_nothing(
    tmp_path: Path, website: Site
) -> None:
    async with a_runtime(tmp_path) as runtime:
        await runtime.render(website.url("/article"))
        await until(lambda: not runtime.pool.state.busy)
        [browser] = runtime.browsers()
        browser.kill()
        await until(lambda: is_ended(browser))
        await until(lambda: not runtime.pool.state.workers or runtime.recycled("unfit"))
        assert await runtime.render(website.url("/article"))


async def test_a_render_cut_off_at_any_moment_gives_back_its_room(
    tmp_path: Path, website: Site
) -> None:
    """Each try is cut off a little later than the one before: from the start to the page."""
    processes = descendants()
    async with a_runtime(tmp_path, worker_pool_max_size_per_process=1) as runtime:
        for step in range(12):
            try:
                async with asyncio.timeout(step * 0.04):
                    await runtime.render(website.url("/silent"))
            except TimeoutError:
                pass
        website.release()
        assert await runtime.render(website.url("/article"))
        await until(lambda: runtime.pool.state == PoolState(workers=1, busy=0, waiting=0))
        assert len(runtime.browsers()) == len(slaves(tmp_path)) == 1
    assert descendants() <= processes
    assert slaves(tmp_path) == []


async def test_a_caller_who_leaves_while_a_browser_starts_does_not_end_it(
    tmp_path: Path, website: Site
) -> None:
    async with a_runtime(tmp_path) as runtime:
        leaving = asyncio.create_task(runtime.render(website.url("/article")))
        await until(lambda: len(runtime.browsers()) == 1)
        leaving.cancel()
        with suppress(asyncio.CancelledError):
            await leaving
        await until(lambda: runtime.pool.state == PoolState(workers=1, busy=0, waiting=0))
        [started] = runtime.browsers()
        assert await runtime.render(website.url("/article"))
        assert runtime.browsers() == [started]


async def test_only_so_many_browsers_start_at_once(tmp_path: Path, website: Site) -> None:
    async with a_runtime(tmp_path, max_starting=1) as runtime, asyncio.TaskGroup() as tasks:
        for n in range(4):
            tasks.create_task(runtime.render(website.url(f"/numbered?n={n}")))
        await until(lambda: runtime.pool.state.busy == 4)
        while not runtime.pool.state.workers:
            assert len(runtime.browsers()) <= 1
            await asyncio.sleep(0)


async def test_pages_beyond_those_that_may_wait_are_refused_at_once(
    tmp_path: Path, website: Site
) -> None:
    settings = {"worker_pool_max_size_per_process": 1, "queue_max_waiting": 1}
    async with a_runtime(tmp_path, **settings) as runtime, asyncio.TaskGroup() as tasks:
        tasks.create_task(runtime.render(website.url("/silent")))
        await website.asked("/silent")
        waiting = tasks.create_task(runtime.render(website.url("/article")))
        await until(lambda: runtime.pool.state.waiting == 1)
        with pytest.raises(Overloaded, match=r"browser\.queue-max-waiting"):
            await runtime.render(website.url("/article"))
        website.release()
        assert await waiting


async def test_after_a_failed_start_pages_are_refused_for_a_while_without_another(
    tmp_path: Path, website: Site
) -> None:
    starts = tmp_path / "starts"
    browser = tmp_path / "broken-browser"
    browser.write_text(f"#!/bin/sh\necho started >> {starts}\nexit 1\n")
    browser.chmod(0o700)
    async with a_runtime(tmp_path, executable_path=str(browser)) as runtime:
        for _ in range(5):
            with pytest.raises(BrowserUnavailable):
                await runtime.render(website.url("/article"))
    assert len(starts.read_text().splitlines()) < 5


async def test_a_browser_that_does_not_start_gives_back_its_room_and_says_why(
    tmp_path: Path, website: Site
) -> None:
    settings = {"executable_path": "/bin/false", "worker_pool_max_size_per_process": 1}
    async with a_runtime(tmp_path, **settings) as runtime:
        for _ in range(2):
            with pytest.raises(BrowserUnavailable):
                await runtime.render(website.url("/article"))
        assert runtime.pool.state == PoolState(workers=0, busy=0, waiting=0)
        assert runtime.pool.last_failure is not None
        assert slaves(tmp_path) == []
        with pytest.raises(BrowserUnavailable):
            await runtime.parts.check()


async def test_a_folder_that_takes_no_profiles_is_told_of(tmp_path: Path, website: Site) -> None:
    async with a_runtime(tmp_path) as runtime:
        (tmp_path / "browser").write_text("a file in its place")
        with pytest.raises(BrowserUnavailable, match="No browser profile can be made"):
            await runtime.render(website.url("/article"))
        assert runtime.pool.state.busy == 0


async def test_closing_in_the_middle_of_renders_leaves_nothing(
    tmp_path: Path, website: Site
) -> None:
    processes, files = descendants(), open_files()
    settings = browser_settings(tmp_path, worker_pool_min_size_per_process=3)
    async with asyncio.TaskGroup() as tasks, open_app(settings) as app:
        scrapes = [
            scrape(app, website, "/silent"),
            scrape(app, website, "/endless"),
            scrape(app, website, "/slow-picture", profile=Profile.MASTER),
        ]
        renders = [tasks.create_task(_until_cut_off(scraping)) for scraping in scrapes]
        for path in ("/silent", "/endless", "/slow-picture"):
            await website.asked(path)
    assert [render.result() for render in renders] == ["cut off"] * 3
    assert descendants() <= processes
    assert slaves(tmp_path) == []
    await until(lambda: len(open_files()) <= len(files))


async def _until_cut_off(scraping: Awaitable[object]) -> str:
    try:
        await scraping
    except (CinderError, asyncio.CancelledError):
        return "cut off"
    return "done"


# The master profile


async def test_the_masters_browser_runs_only_while_somebody_wants_a_page(
    tmp_path: Path, website: Site
) -> None:
    async with a_runtime(tmp_path) as runtime:
        pages = await asyncio.gather(
            *(runtime.render(website.url(f"/numbered?n={n}"), Profile.MASTER) for n in range(3))
        )
        assert [f"Ember {n}".encode() in page.body for n, page in enumerate(pages)] == [True] * 3
        await until(lambda: runtime.master.state == PoolState(workers=0, busy=0, waiting=0))
        assert runtime.browsers() == []


async def test_the_masters_lock_is_let_go_when_those_who_wait_give_up(
    tmp_path: Path, website: Site
) -> None:
    async with a_runtime(tmp_path) as runtime, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(runtime.render(website.url("/silent"), Profile.MASTER))
        await website.asked("/silent")
        waiting = tasks.create_task(runtime.render(website.url("/article"), Profile.MASTER))
        await until(lambda: runtime.master.state.waiting)
        first.add_done_callback(
            lambda _: asyncio.get_running_loop().call_later(0.01, waiting.cancel)
        )
        website.release()
        await first
        await until(lambda: runtime.master.state == PoolState(workers=0, busy=0, waiting=0))
        await until(lambda: not runtime.browsers())


async def test_a_killed_master_browser_is_replaced(tmp_path: Path, website: Site) -> None:
    async with open_app(browser_settings(tmp_path)) as app, asyncio.TaskGroup() as tasks:
        render = tasks.create_task(scrape(app, website, "/silent", profile=Profile.MASTER))
        await website.asked("/silent")
        [browser] = browsers_on(tmp_path)
        browser.kill()
        await until(lambda: website.hits("/silent") == 2)
        website.release()
    assert render.result().diagnostics.retry_count == 1


# Servers


async def test_a_killed_server_leaves_no_browser_and_the_next_sweeps_its_profiles(
    tmp_path: Path, website: Site
) -> None:
    data, variables = tmp_path / "data", {"CINDER_EGRESS__ALLOW": website.address}
    async with run_server(data, **variables) as server, server.client() as client:
        async with asyncio.TaskGroup() as tasks:
            for path in ("/silent", "/endless"):
                body = {"url": website.url(path), "mode": "dynamic"}
                tasks.create_task(_ignoring_errors(client.post("/api/v2/scrape", json=body)))
            await website.asked("/endless")
            await website.asked("/silent")
            browsers = browsers_on(data)
            assert len(browsers) == 2
            await server.kill()
        left = [process for browser in browsers for process in processes_of(browser.pid)]
        await until(lambda: all(is_ended(process) for process in left))
        reap_orphans()
        assert len(slaves(data)) == 2
    async with run_server(data, **variables):
        assert slaves(data) == []


async def _ignoring_errors(request: Awaitable[object]) -> None:
    with suppress(httpx2.TransportError):
        await request


async def test_the_masters_of_two_servers_never_run_at_once(tmp_path: Path) -> None:
    visits = _Visits()
    server = await asyncio.start_server(visits.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    data = tmp_path / "data"
    variables = {
        "CINDER_EGRESS__ALLOW": f"127.0.0.1:{port}",
        "CINDER_BROWSER__MASTER_PROFILE_LOCK_TIMEOUT_MS": "60000",
    }
    async with (
        server,
        run_server(data, **variables) as one,
        run_server(data, **variables) as two,
        one.client() as first,
        two.client() as second,
    ):
        answers = await asyncio.gather(
            *(
                client.post(
                    "/api/v2/scrape",
                    json={
                        "url": f"http://127.0.0.1:{port}/{n}",
                        "mode": "dynamic",
                        "profile": "master",
                    },
                )
                for n, client in enumerate([first, second])
            )
        )
    assert [answer.status_code for answer in answers] == [200] * 2
    assert (visits.most, visits.total) == (1, 2)


class _Visits:
    """A website that notes how many visit it at once."""

    def __init__(self) -> None:
        self.now = self.most = self.total = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.now += 1
        self.total += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.2)
        self.now -= 1
        body = b"<title>Visited</title><p>Some words for a page that was visited.</p>"
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
        writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()
