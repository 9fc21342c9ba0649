"""A remote browser: a Chromium that the test started, reached over its debugging port."""

import asyncio
import json
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from cinder.app.browser import open_browsers
from cinder.app.composition import make_proxy, open_app
from cinder.browser.cdp import CdpSession
from cinder.browser.engine import BrowserParts, RemoteBrowserFetcher
from cinder.browser.remote import RemoteLauncher, RemoteUrl
from cinder.browser.worker import BrowserWorkerLimits
from cinder.config.settings import read_settings
from cinder.egress.base import Target
from cinder.egress.proxy import ForwardProxy
from cinder.errors import (
    BrowserCrashed,
    BrowserUnavailable,
    CinderError,
    ContentTooLarge,
    EgressBlocked,
    SettingsError,
    Unsupported,
)
from cinder.fetch.base import FetchTask
from cinder.metrics import Metrics
from cinder.models.document import FetchedPage
from cinder.models.request import (
    Action,
    Format,
    Mode,
    Profile,
    ProxyTier,
    RenderOptions,
    ScrapeRequest,
)
from tests.browser.egress_site import HostileSite, Page, click, open_hostile_site, run_script
from tests.browser.remote_chromium import Chromium, open_chromium
from tests.egress.loopback import Origin, Reader, Writer, open_origin
from tests.resolver import TableResolver
from tests.site.certificate import write_certificate


@pytest.fixture
async def chromium(tmp_path: Path) -> AsyncIterator[Chromium]:
    async with open_chromium(tmp_path / "remote") as opened:
        yield opened


@pytest.fixture
async def hostile() -> AsyncIterator[HostileSite]:
    async with open_hostile_site() as site:
        yield site


@dataclass(frozen=True)
class Renderer:
    """Renders pages with the remote browser."""

    proxy: ForwardProxy
    parts: BrowserParts

    async def render(
        self,
        url: str,
        *actions: Action,
        caller: str = "owner",
        tier: ProxyTier = ProxyTier.BASIC,
        pool: str | None = None,
        may_connect: Callable[[str], bool] | None = None,
    ) -> FetchedPage:
        task = FetchTask(
            url=url,
            timeout_seconds=30,
            caller=caller,
            render=RenderOptions(actions=actions, proxy=tier, proxy_pool=pool),
            screenshot=Format.SCREENSHOT,
            may_connect=may_connect,
        )
        return await RemoteBrowserFetcher(tier, self.parts).fetch(task)


@asynccontextmanager
async def open_renderer(
    folder: Path, url: str, *allow: str, egress: object = None, **browser: object
) -> AsyncIterator[Renderer]:
    settings = read_settings(
        data_dir=folder,
        egress={"allow": allow} | (egress if isinstance(egress, dict) else {}),
        scrape={"network_idle_timeout_ms": 0, "stability_max_wait_ms": 200},
        browser={"cdp_url": url, **browser},
    )
    async with (
        make_proxy(settings, TableResolver({})) as proxy,
        open_browsers(settings, proxy, Metrics()) as parts,
    ):
        yield Renderer(proxy, parts)


@pytest.fixture
async def renderer(
    chromium: Chromium, hostile: HostileSite, tmp_path: Path
) -> AsyncIterator[Renderer]:
    async with open_renderer(tmp_path, chromium.websocket, hostile.address) as opened:
        yield opened


@asynccontextmanager
async def client_of(chromium: Chromium, folder: Path) -> AsyncIterator[CdpSession]:
    """Connect to the browser beside cinder."""
    settings = read_settings(data_dir=folder)
    async with make_proxy(settings, TableResolver({})) as proxy:
        url = RemoteUrl.parse(f"ws://127.0.0.1:{chromium.port}{chromium.path}")
        launcher = RemoteLauncher(url, proxy, BrowserWorkerLimits(), max_message_bytes=1024 * 1024)
        worker = await launcher.start()
        try:
            yield worker.browser
        finally:
            await launcher.close(worker)


# Rendering


async def test_a_page_is_rendered_by_the_remote_browser_and_says_so(
    hostile: HostileSite, renderer: Renderer
) -> None:
    hostile.pages["/"] = Page(
        "<title>A</title><p id=a>Cold</p><script>a.textContent = 'Warm'</script>"
    )
    page = await renderer.render(hostile.url("/"))
    assert b"Warm" in page.body
    assert page.strategy == "remote-browser"
    assert page.screenshot is not None
    assert page.screenshot.data.startswith(b"\x89PNG")
    stealthy = await renderer.render(hostile.url("/"), tier=ProxyTier.STEALTH)
    assert stealthy.strategy == "remote-browser-stealth"
    assert b"Headless" not in hostile.heads["/"][0]


async def test_actions_run_in_the_remote_browser(hostile: HostileSite, renderer: Renderer) -> None:
    hostile.pages["/"] = Page("<a href=/next>Next</a>")
    hostile.pages["/next"] = Page("<title>Next</title><p>There")
    page = await renderer.render(hostile.url("/"), click("a"), run_script("return document.title"))
    assert page.final_url == hostile.url("/next")
    assert page.actions[1].value == "Next"


async def test_callers_share_no_cookies_and_leave_nothing_in_the_browser(
    chromium: Chromium, hostile: HostileSite, tmp_path: Path
) -> None:
    hostile.pages["/"] = Page("<p>Set", headers=(("Set-Cookie", "mark=1; Max-Age=600"),))
    hostile.pages["/look"] = Page("<p>Look")
    async with open_renderer(
        tmp_path, chromium.websocket, hostile.address, worker_pool_max_size_per_process=1
    ) as renderer:
        for caller in ("first", "first", "second"):
            await renderer.render(hostile.url("/"), caller=caller)
            await renderer.render(hostile.url("/look"), caller=caller)
    assert not any(b"mark=" in head for head in hostile.heads["/look"])
    async with client_of(chromium, tmp_path) as client:
        contexts = await client.send("Target.getBrowserContexts")
        cookies = await client.send("Storage.getCookies")
    assert (contexts["browserContextIds"], cookies["cookies"]) == ([], [])


async def test_pages_of_other_clients_stay_as_they_are(
    chromium: Chromium, hostile: HostileSite, tmp_path: Path
) -> None:
    hostile.pages["/"] = Page("<p>Ours")
    hostile.pages["/popup"] = Page("<p>Theirs")
    async with client_of(chromium, tmp_path) as client:

        async def has_popup() -> bool:
            targets = (await client.send("Target.getTargets"))["targetInfos"]
            return hostile.url("/popup") in [target["url"] for target in targets]

        async with open_renderer(tmp_path, chromium.websocket, hostile.address) as renderer:
            await renderer.render(hostile.url("/"))
            theirs = await client.send("Target.createTarget", url="about:blank")
            command = {
                "id": 1,
                "method": "Runtime.evaluate",
                "params": {"expression": f"open('{hostile.url('/popup')}')", "userGesture": True},
            }
            attached = await client.send("Target.attachToTarget", targetId=theirs["targetId"])
            await client.send(
                "Target.sendMessageToTarget",
                sessionId=attached["sessionId"],
                message=json.dumps(command),
            )
            await hostile.asked("/popup")
            # A command to close the popup would be handled before this page.
            await renderer.render(hostile.url("/"))
            assert await has_popup()
        assert await has_popup()


async def test_a_message_beyond_the_limit_fails_with_the_settings_name(
    chromium: Chromium, hostile: HostileSite, tmp_path: Path
) -> None:
    hostile.pages["/"] = Page("<p>Small")
    hostile.pages["/large"] = Page(f"<p>{'Large ' * 400_000}")
    async with open_renderer(
        tmp_path, chromium.websocket, hostile.address, cdp_max_message_bytes=2**20
    ) as renderer:
        with pytest.raises(ContentTooLarge, match=r"browser\.cdp-max-message-bytes"):
            await renderer.render(hostile.url("/large"))
        assert b"Small" in (await renderer.render(hostile.url("/"))).body


async def test_scrapes_use_it_and_a_persons_profile_does_not(
    chromium: Chromium, hostile: HostileSite, tmp_path: Path
) -> None:
    hostile.pages["/"] = Page("<p>" + "Embers glow under the ash until the morning comes. " * 20)
    settings = read_settings(
        data_dir=tmp_path,
        egress={
            "allow": [hostile.address],
            "proxy_pools": {"eu": {"proxies": ["http://127.0.0.1:9"]}},
        },
        browser={"cdp_url": chromium.websocket},
    )
    async with open_app(settings, resolver=TableResolver({})) as app:

        async def scrape(render: RenderOptions) -> tuple[str, list[str]]:
            request = ScrapeRequest(url=hostile.url("/"), timeout_ms=30_000, render=render)
            outcome = await app.scrape.scrape(request)
            return outcome.document.strategy, outcome.diagnostics.strategies

        dynamic = RenderOptions(mode=Mode.DYNAMIC)
        assert await scrape(dynamic) == ("remote-browser", ["remote-browser"])
        with pytest.raises(Unsupported, match="proxyPool"):
            await scrape(replace(dynamic, proxy_pool="eu"))
        assert len(chromium.relay.heads) == 1
        assert await scrape(RenderOptions(profile=Profile.MASTER)) == ("browser", ["browser"])
        assert len(chromium.relay.heads) == 1


# Connecting


async def test_the_websocket_is_found_by_the_browsers_http_address(
    chromium: Chromium, hostile: HostileSite, tmp_path: Path
) -> None:
    hostile.pages["/"] = Page("<p>Found")
    url = f"http://user:p%40ss@{chromium.relay.pair}/?token=geheim"
    async with open_renderer(tmp_path, url, hostile.address) as renderer:
        assert b"Found" in (await renderer.render(hostile.url("/"))).body
    assert chromium.requests() == ["/json/version?token=geheim", f"{chromium.path}?token=geheim"]
    login = b"Authorization: Basic " + b64encode(b"user:p@ss")
    assert all(login in head for head in chromium.relay.heads)


@pytest.mark.parametrize("scheme", ["wss", "https"])
async def test_a_secure_connection_is_made_with_the_certificates_of_the_settings(
    hostile: HostileSite, tmp_path: Path, scheme: str
) -> None:
    hostile.pages["/"] = Page("<p>Secure")
    certificate = tmp_path / "certificate.pem"
    write_certificate(certificate)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    async with open_chromium(tmp_path / "remote", tls) as chromium:
        path = chromium.path if scheme == "wss" else ""
        url = f"{scheme}://{chromium.relay.pair}{path}"
        trusting = {"ca_file": certificate}
        async with open_renderer(tmp_path, url, hostile.address, egress=trusting) as renderer:
            assert b"Secure" in (await renderer.render(hostile.url("/"))).body
        async with open_renderer(tmp_path, url, hostile.address) as renderer:
            with pytest.raises(BrowserUnavailable, match="certificate"):
                await renderer.render(hostile.url("/"))


async def test_a_broken_connection_fails_the_page_and_the_next_page_connects_again(
    chromium: Chromium, hostile: HostileSite, renderer: Renderer
) -> None:
    hostile.pages["/"] = Page("<p>Again")
    async with asyncio.TaskGroup() as tasks:
        page = tasks.create_task(_error_of(renderer.render(hostile.url("/hold"))))
        await hostile.asked("/hold")
        chromium.cut()
    assert isinstance(page.result(), BrowserCrashed)
    assert "browser.cdp-url" in page.result().message
    assert b"Again" in (await renderer.render(hostile.url("/"))).body
    assert len(chromium.relay.heads) == 2


async def _error_of(render: Awaitable[FetchedPage]) -> CinderError:
    with pytest.raises(CinderError) as caught:
        await render
    return caught.value


async def test_a_browser_that_is_not_there_is_named_by_its_setting(tmp_path: Path) -> None:
    async with open_origin(_close) as gone:
        pass
    for scheme in ("ws", "http"):
        secret = f"{scheme}://user:geheim@{gone.pair}/devtools/geheim?token=geheim"
        with capture_logs() as log:
            async with open_renderer(tmp_path, secret, "127.0.0.1:80") as renderer:
                error = await _error_of(renderer.render("http://127.0.0.1/"))
                with pytest.raises(BrowserUnavailable):
                    await renderer.parts.check()
        assert isinstance(error, BrowserUnavailable)
        assert "browser.cdp-url" in error.message
        assert str(gone.port) not in error.message
        assert "geheim" not in f"{error.message} {log}"
        addresses = [line.get("browser") for line in log if line["log_level"] == "warning"]
        # The first warns that there is no guard.
        assert addresses[:2] == [f"http://{gone.pair}"] * 2


async def _close(_: Origin, __: Reader, ___: Writer) -> None:
    return


async def test_the_log_warns_at_the_start_and_nothing_is_connected_yet(
    chromium: Chromium, tmp_path: Path
) -> None:
    with capture_logs() as log:
        async with open_renderer(tmp_path, chromium.websocket):
            pass
    warnings = [line for line in log if line["log_level"] == "warning"]
    assert [line["event"] for line in warnings] == ["remote browser without egress guard"]
    assert chromium.relay.connections == 0


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b"",
    ],
)
@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_a_server_that_is_no_browser_is_refused(
    scheme: str, answer: bytes, tmp_path: Path
) -> None:
    async def respond(_: Origin, reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()

    async with (
        open_origin(respond) as origin,
        open_renderer(tmp_path, f"{scheme}://{origin.pair}/", "127.0.0.1:80") as renderer,
    ):
        error = await _error_of(renderer.render("http://127.0.0.1/"))
    assert isinstance(error, BrowserUnavailable)
    assert "browser.cdp-url" in error.message
    assert str(origin.port) not in error.message
    assert b"403" not in answer or "403" in error.message


def test_the_host_of_an_address_has_no_brackets_as_in_the_proxy() -> None:
    assert RemoteUrl.parse("ws://[::1]:9222/x").target == Target.from_pair("[::1]:9222")


@pytest.mark.parametrize("url", ["geheim", "ftp://h/geheim", "ws://:geheim@", "ws://h:0/geheim"])
async def test_what_is_no_url_of_a_browser_is_refused_without_quoting_it(
    url: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=r"browser\.cdp-url") as caught:
        async with open_renderer(tmp_path, url):
            pass
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("setting", "named", "websocket"),
    [
        ("http://h:9222", "ws://h:9222/devtools/a", "ws://h:9222/devtools/a"),
        ("https://h", "ws://0.0.0.0:3000/devtools/a", "wss://h/devtools/a"),
        ("http://h/chromium?token=x", "ws://h/a", "ws://h/a?token=x"),
        ("http://h/?token=x", "ws://h/a?session=y", "ws://h/a?session=y"),
    ],
)
def test_the_named_websocket_stays_on_the_host_of_the_setting(
    setting: str, named: str, websocket: str
) -> None:
    assert RemoteUrl.parse(setting).at_websocket(named).websocket == websocket


def test_the_version_is_asked_for_below_the_path_of_the_setting() -> None:
    urls = ["http://h", "http://h/chromium/?token=x", "http://h/json/version"]
    assert [RemoteUrl.parse(url).version_url for url in urls] == [
        "http://h/json/version",
        "http://h/chromium/json/version?token=x",
        "http://h/json/version",
    ]


# The guard


async def test_a_target_that_the_guard_refuses_never_reaches_the_browser(
    chromium: Chromium, renderer: Renderer
) -> None:
    for url in ("http://127.0.0.1:9/", "http://169.254.169.254/", "http://10.0.0.1/"):
        with pytest.raises(EgressBlocked):
            await renderer.render(url)
    assert chromium.relay.connections == 0


@pytest.mark.parametrize(
    "page",
    [
        lambda url: Page(status=302, headers=(("Location", url),)),
        lambda url: Page(f"<p>Going<script>location = '{url}'</script>"),
    ],
)
async def test_a_page_that_led_to_a_private_address_is_not_returned(
    hostile: HostileSite, renderer: Renderer, page: Callable[[str], Page]
) -> None:
    hostile.pages["/"] = page
    async with open_hostile_site() as private:
        private.pages["/"] = Page("<title>Secret</title>")
        with pytest.raises(EgressBlocked):
            await renderer.render(hostile.url(f"/?{private.url('/')}"))
        # This is what is lost without the guard.
        assert private.hits["/"] == 1


async def test_a_page_between_is_judged_too(hostile: HostileSite, renderer: Renderer) -> None:
    hostile.pages["/back"] = Page("<p>Back")
    async with open_hostile_site() as private:
        private.pages["/"] = Page(f"<a href={hostile.url('/back')}>Back</a>")
        hostile.pages["/"] = Page(f"<a href={private.url('/')}>There</a>")
        with pytest.raises(EgressBlocked):
            await renderer.render(hostile.url("/"), click("a"), click("a"))
        # Neither does an error tell of the private page.
        script = "throw document.body.textContent"
        with pytest.raises(EgressBlocked):
            await renderer.render(hostile.url("/"), click("a"), run_script(script))


async def test_what_needs_the_egress_proxy_is_refused(
    chromium: Chromium, hostile: HostileSite, tmp_path: Path
) -> None:
    proxy = "http://127.0.0.1:9"
    async with open_renderer(
        tmp_path,
        chromium.websocket,
        hostile.address,
        egress={"proxy_pools": {"eu": {"proxies": [proxy]}}},
        proxy_server=proxy,
        proxy_tiers="stealth",
    ) as renderer:
        with pytest.raises(Unsupported, match="proxyPool"):
            await renderer.render(hostile.url("/"), pool="eu")
        with pytest.raises(Unsupported, match=r"browser\.proxy-server"):
            await renderer.render(hostile.url("/"), tier=ProxyTier.STEALTH)
        with pytest.raises(Unsupported, match="domains"):
            await renderer.render(hostile.url("/"), may_connect=lambda _: True)
        hostile.pages["/"] = Page("<p>Plain")
        assert b"Plain" in (await renderer.render(hostile.url("/"))).body
