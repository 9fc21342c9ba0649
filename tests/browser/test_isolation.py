"""Callers share no data in browsers, and no data is left on the machine."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cinder.models.request import Profile
from tests.browser.egress_site import (
    HostileSite,
    Page,
    Renderer,
    click,
    open_hostile_site,
    open_renderer,
    run_script,
)
from tests.browser.processes import browsers_on

# Leaves a mark wherever a page can.
MARK = """(async () => {
  document.cookie = 'script=marked; max-age=600';
  localStorage.mark = sessionStorage.mark = window.name = 'marked';
  history.pushState({}, '', '#marked');
  await new Promise((done, fail) => {
    const opening = indexedDB.open('marks', 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore('marks');
    opening.onsuccess = () => { opening.result.close(); done() };
    opening.onerror = fail;
  });
  const cache = await caches.open('marks');
  await cache.put('/kept', new Response('marked'));
  await (await navigator.storage.getDirectory()).getFileHandle('mark', { create: true });
  await navigator.serviceWorker.register('/service-worker.js').catch(() => 0);
  const asking = new XMLHttpRequest();
  asking.open('GET', '/login', true, 'user', 'secret');
  await new Promise(done => { asking.onloadend = done; asking.send() });
  await fetch('/immutable');
  new SharedWorker('/shared.js');
  window.channel = new BroadcastChannel('marks');
  window.socket = new WebSocket(`ws://${location.host}/socket`);
  await new Promise(done => { socket.onopen = socket.onerror = done });
  setInterval(() => channel.postMessage('marked'), 10);
  return document.cookie;
})()"""

# Tells every mark that can be seen.
LOOK = """(async () => {
  const channel = new BroadcastChannel('marks');
  const heard = new Promise(done => { channel.onmessage = event => done(event.data) });
  const worker = new SharedWorker('/shared.js');
  const visits = await new Promise(done => { worker.port.onmessage = event => done(event.data) });
  const login = await fetch('/login');
  await fetch('/immutable');
  const files = [];
  for await (const name of (await navigator.storage.getDirectory()).keys()) files.push(name);
  return {
    cookies: document.cookie,
    local: localStorage.length,
    session: sessionStorage.length,
    name: window.name,
    history: history.length,
    databases: (await indexedDB.databases()).length,
    caches: await caches.keys(),
    files,
    workers: (await navigator.serviceWorker.getRegistrations()).length,
    login: login.status,
    visits,
    heard: await Promise.race([heard, new Promise(done => setTimeout(done, 100, 'nothing'))]),
  };
})()"""

CLEAN: dict[str, Any] = {  # Any: JSON values of all kinds
    "cookies": "",
    "local": 0,
    "session": 0,
    "name": "",
    # The page, and about:blank before it.
    "history": 2,
    "databases": 0,
    "caches": [],
    "files": [],
    "workers": 0,
    "login": 401,
    "visits": 1,
    "heard": "nothing",
}

PAGES = {
    "/": Page("<p>Words", headers=(("Set-Cookie", "header=marked; Max-Age=600; HttpOnly"),)),
    "/look": Page("<p>Words"),
    "/shared.js": Page(
        "let visits = 0; onconnect = event => event.ports[0].postMessage(++visits)",
        type="text/javascript",
    ),
    "/service-worker.js": Page("onfetch = () => {}", type="text/javascript"),
    "/login": Page(status=401, headers=(("WWW-Authenticate", 'Basic realm="site"'),)),
    "/immutable": Page(
        "kept", headers=(("Cache-Control", "public, max-age=31536000, immutable"), ("ETag", '"1"'))
    ),
}


@pytest.fixture
async def site() -> AsyncIterator[HostileSite]:
    async with open_hostile_site() as opened:
        opened.pages |= PAGES
        yield opened


@pytest.fixture
async def renderer(site: HostileSite, tmp_path: Path) -> AsyncIterator[Renderer]:
    async with open_renderer(tmp_path, site.address) as opened:
        yield opened


def browser_ids(folder: Path) -> list[int]:
    return [process.pid for process in browsers_on(folder)]


def files_named(name: str, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if name in path.name]


async def test_the_next_page_in_the_same_browser_sees_nothing_of_the_one_before(
    site: HostileSite, tmp_path: Path
) -> None:
    async with open_renderer(
        tmp_path, site.address, worker_pool_max_size_per_process=1
    ) as renderer:
        assert await renderer.run(site.url("/"), MARK) == "script=marked"
        first = browser_ids(tmp_path)
        seen = await renderer.run(site.url("/look"), LOOK)
        assert browser_ids(tmp_path) == first
    assert seen == CLEAN
    assert site.hits["/immutable"] == 2
    assert not any(b"if-none-match" in head.lower() for head in site.heads["/immutable"])
    assert b"authorization" in site.heads["/login"][-2].lower()
    assert b"authorization" not in site.heads["/login"][-1].lower()
    assert b"cookie" not in site.heads["/look"][0].lower()


async def test_a_page_in_another_browser_at_the_same_time_sees_nothing_either(
    site: HostileSite, renderer: Renderer, tmp_path: Path
) -> None:
    marking = f"{MARK}.then(() => fetch('/hold')).then(() => 'held')"
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(renderer.run(site.url("/"), marking))
        await site.asked("/hold")
        seen = await renderer.run(site.url("/look"), LOOK)
        running = browser_ids(tmp_path)
        site.release()
    assert (first.result(), seen, len(running)) == ("held", CLEAN, 2)


async def test_the_connections_of_a_page_end_with_it(site: HostileSite, renderer: Renderer) -> None:
    script = """(async () => {
      fetch('/hold', { keepalive: true }); new EventSource('/hold');
      const socket = new WebSocket(`ws://${location.host}/socket`);
      await new Promise(done => { socket.onopen = done });
      await fetch('/meanwhile');
    })()"""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(renderer.run(site.url("/"), script))
        await site.sockets_open(3)
    await site.sockets_open(0)


async def test_the_masters_cookies_stay_with_the_master(
    site: HostileSite, renderer: Renderer
) -> None:
    await renderer.run(site.url("/"), "document.cookie = 'login=kept; max-age=600'", Profile.MASTER)
    default = await renderer.run(site.url("/look"), "document.cookie")
    master = await renderer.run(site.url("/look"), "document.cookie", Profile.MASTER)
    assert (default, master) == ("", "login=kept")
    cookies = [b"header=marked" in head for head in site.heads["/look"]]
    assert cookies == [False, True]


@pytest.mark.parametrize("profile", list(Profile))
async def test_a_page_cannot_put_files_on_the_machine(
    profile: Profile,
    site: HostileSite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    for folder in (home / "Downloads", cwd):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(cwd)
    attachment = (("Content-Disposition", "attachment; filename=loot.bin"),)
    site.pages["/loot"] = Page("loot", "application/octet-stream", headers=attachment)
    site.pages["/"] = Page(
        "<p>Words<a id=attached href=/loot>Attached</a><iframe src=/loot></iframe>"
    )
    script = """(async () => {
      const save = href => {
        const link = document.createElement('a');
        link.href = href; link.download = 'loot.bin'; link.click();
      };
      save(URL.createObjectURL(new Blob(['loot']))); save('data:text/plain,loot'); save('/loot');
      location = '/loot';
      await fetch('/meanwhile');
    })()"""
    async with open_renderer(tmp_path / "data", site.address) as renderer:
        await renderer.render(
            site.url("/"), run_script(script), click("#attached"), profile=profile
        )
    assert site.hits["/loot"] > 0
    assert files_named("loot", tmp_path) == files_named("", cwd) == []
    assert files_named("", home / "Downloads") == []


@pytest.mark.parametrize("profile", list(Profile))
async def test_a_page_that_asks_for_permissions_is_refused_and_does_not_hang(
    profile: Profile, site: HostileSite, renderer: Renderer
) -> None:
    script = """(async () => {
      const asked = {
        place: new Promise((yes, no) => navigator.geolocation.getCurrentPosition(yes, no)),
        camera: navigator.mediaDevices.getUserMedia({ video: true, audio: true }),
        clipboard: navigator.clipboard.readText(),
        notices: Notification.requestPermission().then(answer => {
          if (answer !== 'granted') throw new Error(answer);
        }),
      };
      const outcomes = {};
      for (const [name, answer] of Object.entries(asked))
        outcomes[name] = await Promise.race([
          answer.then(() => 'granted', () => 'refused'),
          new Promise(done => setTimeout(done, 5000, 'hung')),
        ]);
      return outcomes;
    })()"""
    outcomes = await renderer.run(site.url("/"), script, profile)
    assert outcomes == dict.fromkeys(("place", "camera", "clipboard", "notices"), "refused")
