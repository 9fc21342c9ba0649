"""A rendered page can reach nothing private, by any means."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from cinder.errors import CinderError, EgressBlocked
from cinder.models.request import Profile, ProxyTier
from tests.browser.egress_site import (
    EgressLog,
    HostileSite,
    Page,
    Renderer,
    click,
    open_canaries,
    open_hostile_site,
    open_renderer,
    read_egress_log,
    run_script,
)
from tests.browser.processes import browsers_on, processes_of
from tests.browser.ways_out import NEVER_TRIED, WAYS, pages_of
from tests.egress.loopback import acting_as_proxy, open_origin
from tests.egress.memory import MemoryResolver
from tests.site import Canary


@pytest.fixture
async def hostile() -> AsyncIterator[HostileSite]:
    async with open_hostile_site() as site:
        yield site


@pytest.fixture
async def renderer(hostile: HostileSite, tmp_path: Path) -> AsyncIterator[Renderer]:
    async with open_renderer(tmp_path, hostile.address) as opened:
        yield opened


@pytest.fixture
def log() -> Iterator[EgressLog]:
    with read_egress_log() as reading:
        yield reading


def browser_processes(folder: Path) -> list[psutil.Process]:
    """All processes of the browsers whose profiles lie below a folder."""
    return [member for browser in browsers_on(folder) for member in processes_of(browser.pid)]


def peers(processes: list[psutil.Process]) -> set[tuple[str, int]]:
    """Whom the processes have TCP connections with."""
    connected: set[tuple[str, int]] = set()
    for process in processes:
        # One that has ended since it was listed has no connections.
        with suppress(psutil.NoSuchProcess):
            connections = process.net_connections("tcp")
            connected.update((c.raddr.ip, c.raddr.port) for c in connections if c.raddr)
    return connected


@pytest.mark.parametrize("profile", list(Profile))
async def test_no_way_out_of_a_rendered_page_reaches_a_private_address(
    profile: Profile, hostile: HostileSite, renderer: Renderer, log: EgressLog, tmp_path: Path
) -> None:
    script = "fetch('/hold').then(() => ({ outcomes, candidates }))"
    with open_canaries(WAYS) as canaries:
        hostile.pages |= pages_of(canaries)
        async with asyncio.TaskGroup() as tasks:
            run = tasks.create_task(renderer.run(hostile.url("/"), script, profile))
            await hostile.asked("/hold")
            await log.has_decided_on({canaries.ports[name] for name in WAYS - NEVER_TRIED})
            connected = peers(browser_processes(tmp_path))
            hostile.release()
        assert canaries.reached() == set()
        assert log.blocked(canaries.ports) >= WAYS - NEVER_TRIED
        assert log.allowed() == {hostile.origin.port}
    proxy_port = int(renderer.proxy.url.rpartition(":")[2])
    assert connected == {("127.0.0.1", proxy_port)}
    seen = run.result()
    assert seen["candidates"] == []
    assert seen["outcomes"]["service-worker"].startswith("SecurityError")


LEADING_AWAY = {
    "/redirect": lambda url: Page(status=302, headers=(("Location", url),)),
    "/refresh": lambda url: Page(f"<meta http-equiv=refresh content='0;url={url}'>"),
    "/refresh-header": lambda url: Page("<p>Going", headers=(("Refresh", f"0;url={url}"),)),
    "/location": lambda url: Page(f"<p>Going<script>location = '{url}'</script>"),
    "/form": lambda url: Page(
        f"<form method=post action='{url}'></form><script>document.forms[0].submit()</script>"
    ),
    "/base": lambda url: Page(f"<base href='{url}'><img src=/picture><p>Here"),
}


async def test_a_page_that_leads_to_a_private_address_does_not_get_there(
    hostile: HostileSite, renderer: Renderer, log: EgressLog
) -> None:
    hostile.pages |= LEADING_AWAY
    with open_canaries(LEADING_AWAY) as canaries:
        urls = [
            hostile.url(f"{path}?http://127.0.0.1:{port}/") for path, port in canaries.ports.items()
        ]
        results = await asyncio.gather(*map(renderer.render, urls), return_exceptions=True)
        assert canaries.reached() == set()
        assert log.blocked(canaries.ports) == set(LEADING_AWAY)
    assert isinstance(results[0], EgressBlocked)
    assert [
        r for r in results if isinstance(r, BaseException) and not isinstance(r, CinderError)
    ] == []


async def test_actions_and_the_end_of_a_page_reach_nothing_private(
    hostile: HostileSite, renderer: Renderer, log: EgressLog
) -> None:
    names = ("script", "window", "beacon", "keepalive", "location")
    with open_canaries(names) as canaries:
        urls = {name: f"http://127.0.0.1:{port}/" for name, port in canaries.ports.items()}
        hostile.pages["/"] = Page(
            f"<p>Words<a id=window target=_blank href='{urls['window']}'>Open</a><script>"
            f"addEventListener('pagehide', () => {{ navigator.sendBeacon('{urls['beacon']}', 'x');"
            f"fetch('{urls['keepalive']}', {{ mode: 'no-cors', keepalive: true }}) }})</script>"
        )
        page = hostile.url("/")
        tried = run_script(f"fetch('{urls['script']}').catch(error => error.name)")
        assert (await renderer.render(page, tried)).actions[0].value == "TypeError"
        with pytest.raises(CinderError):
            await renderer.render(page, click("#window"))
        with pytest.raises(CinderError):
            await renderer.render(page, run_script(f"location = '{urls['location']}'"))
        await log.has_decided_on(set(canaries.ports.values()))
        assert canaries.reached() == set()
        assert log.blocked(canaries.ports) == set(names)


@pytest.mark.parametrize("profile", list(Profile))
async def test_a_page_cannot_lead_to_files_and_the_browsers_own_pages(
    profile: Profile, hostile: HostileSite, renderer: Renderer
) -> None:
    hostile.pages["/"] = Page("<title>Here</title><p>Still here")
    for url in ("file:///etc/passwd", "chrome://version", "view-source:file:///etc/passwd"):
        frame = f"const f = document.createElement('iframe'); f.src = '{url}'; f.onload = done;"
        script = (
            f"new Promise(done => {{ {frame} document.body.append(f); window.open('{url}');"
            f"location = '{url}'; setTimeout(done, 500) }}).then(() => document.title)"
        )
        page = await renderer.render(hostile.url("/"), run_script(script), profile=profile)
        assert (page.final_url, page.actions[0].value) == (hostile.url("/"), "Here")
        assert b"root:" not in page.body


@pytest.mark.parametrize("answers", [["127.0.0.2", "127.0.0.1"], ["127.0.0.2", "127.0.0.1"] * 30])
async def test_a_name_that_rebinds_to_a_private_address_does_not_lead_there(
    answers: list[str], tmp_path: Path, log: EgressLog
) -> None:
    canary = Canary()
    site = HostileSite()
    script = """(async () => {
      const outcomes = [];
      for (let n = 0; n < 20; n++)
        outcomes.push(await fetch('/again?' + n).then(a => a.text(), () => 'refused'));
      new WebSocket(`ws://${location.host}/`); navigator.sendBeacon('/again', 'x');
      const image = new Image(); image.src = '/image';
      await new Promise(done => { image.onload = image.onerror = done });
      return outcomes })()"""
    site.pages |= {"/": Page("<p>Rebinding"), "/again": Page("the public one")}
    resolver = MemoryResolver({"rebinds.test": [[answer] for answer in answers]})
    # 127.0.0.2 stands for a public address; the canary is at the same port of 127.0.0.1.
    async with (
        open_origin(site.serve, "127.0.0.2", canary.port) as site.origin,
        open_renderer(tmp_path, "127.0.0.2/32", resolver=resolver) as renderer,
    ):
        outcomes = await renderer.run(site.url("/", "rebinds.test"), script)
    assert "refused" in outcomes
    assert set(outcomes) <= {"refused", "the public one"}
    assert ("rebinds.test", "blocked") in log.decisions[canary.port]
    assert not canary.was_reached()
    canary.close()


async def test_a_browser_whose_network_process_is_killed_goes_nowhere_by_itself(
    hostile: HostileSite, renderer: Renderer, tmp_path: Path
) -> None:
    with open_canaries(("http", "https", "ws")) as canaries:
        at = {name: f"127.0.0.1:{port}" for name, port in canaries.ports.items()}
        hostile.pages["/"] = Page("<p>Words")
        script = f"""(async () => {{
          await fetch('/hold').catch(() => 0);
          const outcomes = [];
          for (let n = 0; n < 20; n++) {{
            new WebSocket('ws://{at["ws"]}'); new Image().src = 'http://{at["http"]}/' + n;
            const options = {{ mode: 'no-cors', signal: AbortSignal.timeout(500) }};
            await fetch('https://{at["https"]}', options).catch(() => 0);
            outcomes.push(await fetch('http://{at["http"]}', options)
              .then(() => 'answered by the proxy', () => 'failed'));
            await new Promise(done => setTimeout(done, 20));
          }}
          return outcomes }})()"""
        async with asyncio.TaskGroup() as tasks:
            run = tasks.create_task(renderer.run(hostile.url("/"), script))
            await hostile.asked("/hold")
            killed = [
                process
                for process in browser_processes(tmp_path)
                if "--utility-sub-type=network.mojom.NetworkService" in process.cmdline()
            ]
            for process in killed:
                os.kill(process.pid, signal.SIGKILL)
        assert len(killed) == 1
        assert canaries.reached() == set()
        assert "answered by the proxy" in run.result()


async def test_pages_of_a_tier_leave_through_its_upstream_proxy_and_reach_nothing_private(
    hostile: HostileSite, tmp_path: Path, log: EgressLog
) -> None:
    canary = Canary()
    hostile.pages["/"] = Page("<p>Words")
    script = f"fetch('http://127.0.0.1:{canary.port}').catch(error => error.name)"
    async with (
        open_origin(acting_as_proxy()) as upstream,
        open_renderer(
            tmp_path, hostile.address, proxy_server=upstream.url, proxy_tiers=["stealth"]
        ) as renderer,
    ):
        await renderer.render(hostile.url("/"))
        asked_by_basic = list(upstream.heads)
        page = await renderer.render(hostile.url("/"), run_script(script), tier=ProxyTier.STEALTH)
    assert asked_by_basic == []
    assert {head.split(b"\r\n")[0] for head in upstream.heads} == {
        f"CONNECT {hostile.address} HTTP/1.1".encode()
    }
    assert page.actions[0].value == "TypeError"
    assert log.decisions[canary.port] == {("127.0.0.1", "blocked")}
    assert not canary.was_reached()
    canary.close()
