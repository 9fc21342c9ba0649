"""What tests of the page side share: browsers that stay open, two websites, and a visitor."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio

from cinder.app.browser import open_browsers
from cinder.app.composition import make_proxy
from cinder.browser.engine import BrowserFetcher, BrowserParts
from cinder.config.settings import Settings, read_settings
from cinder.fetch.base import FetchTask
from cinder.metrics import Metrics
from cinder.models.document import FetchedPage
from cinder.models.request import Action, Format, ProxyTier, RenderOptions
from tests.resolver import TableResolver
from tests.site import Site, serve_site

# For tests that use the browsers below: these live on a loop that a module's tests share.
in_browser = pytest.mark.asyncio(loop_scope="module")

# Waits that are not the subject of a test are short ones.
QUICK_WAITS = {
    "network_idle_timeout_ms": 0,
    "stability_check_interval_ms": 10,
    "stability_max_wait_ms": 500,
}
# Whatever port a test's website has; all of them are on loopback.
LOOPBACK = {"allow": ["127.0.0.0/8"], "ports": ["1-65535"]}
RESOLVER = TableResolver({"other.test": ["127.0.0.1"]})


def browser_settings(folder: Path, **browser: object) -> Settings:
    """Return settings for browsers that may visit this machine."""
    return read_settings(data_dir=folder, egress=LOOPBACK, scrape=QUICK_WAITS, browser=browser)


@dataclass(frozen=True, slots=True)
class Visitor:
    """Visits pages of a website with a browser."""

    site: Site
    parts: BrowserParts

    async def visit(
        self,
        path: str,
        *,
        actions: Sequence[Action] = (),
        headers: dict[str, str] | None = None,
        screenshot: Format | None = None,
        proxy: ProxyTier = ProxyTier.BASIC,
        mobile: bool = False,
        wait_for_ms: int = 0,
    ) -> FetchedPage:
        """Return what a browser makes of a page; `path` may be a whole URL."""
        task = FetchTask(
            url=self.site.url(path) if path.startswith("/") else path,
            timeout_seconds=30,
            headers=tuple((headers or {}).items()),
            render=RenderOptions(
                actions=tuple(actions), mobile=mobile, wait_for_ms=wait_for_ms, proxy=proxy
            ),
            screenshot=screenshot,
        )
        return await BrowserFetcher(proxy, self.parts).fetch(task)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browsers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[BrowserParts]:
    """The browser runtime, open for all tests of a module that are marked `in_browser`."""
    settings = browser_settings(tmp_path_factory.mktemp("browsers"))
    async with (
        make_proxy(settings, RESOLVER) as proxy,
        open_browsers(settings, proxy, Metrics()) as parts,
    ):
        quick = replace(parts.visit.wait, element_seconds=0.8)
        yield replace(parts, visit=replace(parts.visit, wait=quick))


@pytest.fixture(scope="session")
def served() -> Iterator[Site]:
    with serve_site() as running:
        yield running


def clear_memory(site: Site) -> None:
    """Let a website be as if nobody had visited it."""
    # On the site's own loop, where what the test before let go is still being let go.
    asyncio.run_coroutine_threadsafe(site.pages.forget(), site.loop).result(60)


@pytest.fixture
def website(served: Site) -> Iterator[Site]:
    """A website that nobody has visited yet."""
    clear_memory(served)
    yield served
    served.release()


@pytest.fixture(scope="session")
def served_elsewhere() -> Iterator[Site]:
    with serve_site() as running:
        yield running


@pytest.fixture
def elsewhere(served_elsewhere: Site) -> Site:
    """Another site: its origin is `http://other.test` with a port of its own."""
    clear_memory(served_elsewhere)
    return served_elsewhere


@pytest.fixture
def visitor(website: Site, browsers: BrowserParts) -> Visitor:
    return Visitor(website, browsers)
