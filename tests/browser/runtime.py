"""The browser runtime opened for one test, and renders of the website with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from cinder.app.browser import make_equipment, open_browsers
from cinder.app.composition import App, make_proxy
from cinder.browser.engine import BrowserFetcher, BrowserParts
from cinder.browser.launcher import LaunchSettings
from cinder.browser.pool import BrowserWorkerPool
from cinder.browser.worker import BrowserLaunch, BrowserWorker, BrowserWorkerLimits
from cinder.config.settings import Settings
from cinder.egress.proxy import ForwardProxy
from cinder.fetch.base import FetchTask
from cinder.metrics import Metrics
from cinder.models.document import FetchedPage
from cinder.models.request import (
    CachePolicy,
    Mode,
    Profile,
    ProxyTier,
    RenderOptions,
    ScrapeRequest,
)
from cinder.services.scraping.outcome import ScrapeOutcome
from tests.browser.processes import browsers_on
from tests.resolver import TableResolver
from tests.site import Site


@dataclass(frozen=True, slots=True)
class Runtime:
    """Open pools of browsers."""

    root: Path
    parts: BrowserParts
    proxy: ForwardProxy
    metrics: Metrics

    @property
    def pool(self) -> BrowserWorkerPool:
        return self.parts.pools[Profile.DEFAULT]

    @property
    def master(self) -> BrowserWorkerPool:
        return self.parts.pools[Profile.MASTER]

    def browsers(self) -> list[psutil.Process]:
        """The main processes of the browsers that run."""
        return browsers_on(self.root)

    def recycled(self, reason: str) -> float:
        """How many browsers were closed for a reason."""
        name = "cinder_browser_recycles_total"
        return self.metrics.registry.get_sample_value(name, {"reason": reason}) or 0

    async def render(self, url: str, profile: Profile = Profile.DEFAULT) -> FetchedPage:
        task = FetchTask(url=url, timeout_seconds=30, render=RenderOptions(profile=profile))
        return await BrowserFetcher(ProxyTier.BASIC, self.parts).fetch(task)


@asynccontextmanager
async def open_runtime(settings: Settings) -> AsyncIterator[Runtime]:
    metrics = Metrics()
    async with (
        make_proxy(settings, TableResolver({})) as proxy,
        open_browsers(settings, proxy, metrics) as parts,
    ):
        yield Runtime(settings.browser_root, parts, proxy, metrics)


@asynccontextmanager
async def open_equipment(settings: Settings) -> AsyncIterator[LaunchSettings]:
    """What browsers are started with, without pools."""
    async with make_proxy(settings, TableResolver({})) as proxy:
        yield make_equipment(settings, proxy)


def make_profile(folder: Path, name: str = "master") -> Path:
    """Make the folder of a person's profile."""
    profile = folder / name
    profile.mkdir(parents=True, exist_ok=True)
    return profile


def a_launch(equipment: LaunchSettings, profile: Path) -> BrowserLaunch:
    """How to start a headless shell on a folder."""
    return BrowserLaunch(
        executable=equipment.finder.find_headless().path,
        arguments=equipment.command_line.headless(
            profile=profile, proxy_url=equipment.proxy.url, is_shell=True
        ),
        environment=equipment.environment,
        profile=profile,
    )


async def start_worker(
    equipment: LaunchSettings, profile: Path, limits: BrowserWorkerLimits
) -> BrowserWorker:
    return await BrowserWorker.start(a_launch(equipment, profile), equipment.proxy, limits)


async def scrape(
    app: App,
    site: Site,
    path: str,
    *,
    profile: Profile = Profile.DEFAULT,
    timeout_ms: int = 30_000,
) -> ScrapeOutcome:
    """Render a page of the website by way of the whole of cinder."""
    request = ScrapeRequest(
        url=site.url(path),
        timeout_ms=timeout_ms,
        cache=CachePolicy(force_rescrape=True),
        render=RenderOptions(mode=Mode.DYNAMIC, profile=profile),
    )
    return await app.scrape.scrape(request)
