"""The browser engine: fetches a page in a tab of a pool's worker."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from cinder.browser.blocking import Interception, PageBlocking
from cinder.browser.cdp import CommandFailed, ConnectionClosed
from cinder.browser.chromium import BrowserFinder
from cinder.browser.identity import CallerHeaders, IdentitySettings, choose_identity
from cinder.browser.pool import BrowserWorkerPool
from cinder.browser.tab import ScriptFailed
from cinder.browser.visit import TabConfiguration, Visit, VisitSettings
from cinder.browser.worker import ContextPurpose, WorkerTab
from cinder.egress.credentials import Route
from cinder.egress.proxy import ForwardProxy
from cinder.errors import (
    BrowserCrashed,
    BrowserUnavailable,
    CinderError,
    EgressBlocked,
    ScrapeFailed,
    Unsupported,
)
from cinder.fetch.base import FetchTask
from cinder.models.document import FetchedPage
from cinder.models.request import Profile, ProxyTier
from cinder.models.url import host_and_port, origin_of


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserParts:
    """The parts that the engines of all tiers share."""

    finder: BrowserFinder
    pools: Mapping[Profile, BrowserWorkerPool]
    blocking: PageBlocking
    identity: IdentitySettings
    visit: VisitSettings
    proxy: ForwardProxy
    upstream_tiers: frozenset[ProxyTier] = frozenset()
    """The tiers whose connections leave through the upstream proxy."""
    is_remote: bool = False
    """Whether the default pool uses a remote browser."""

    async def check(self) -> None:
        """Return if pages can probably be rendered; no browser is started.

        Raises:
            BrowserUnavailable: there is no browser, or the last one did not start.
        """
        for pool in self.pools.values():
            if pool.last_failure is not None:
                raise pool.last_failure
        if not self.is_remote:
            self.finder.find_headless()

    async def try_out(self) -> None:
        """Start a browser and open a tab.

        Raises:
            BrowserUnavailable: that fails.
        """
        try:
            async with self.pools[Profile.DEFAULT].borrow_tab(ContextPurpose()) as opened:
                await opened.tab.evaluate("1")
        except (ConnectionClosed, CommandFailed, ScriptFailed) as error:
            raise BrowserUnavailable(f"The browser started and ended: {error}") from error


class BrowserFetcher:
    """Fetches pages with a browser."""

    _ended = "The browser ended before the page was read"

    def __init__(self, tier: ProxyTier, parts: BrowserParts) -> None:
        self.name = "browser-stealth" if tier is ProxyTier.STEALTH else "browser"
        self._tier = tier
        self._parts = parts

    async def fetch(self, task: FetchTask) -> FetchedPage:
        """Render a URL in a new tab."""
        parts = self._parts
        pool = task.render.proxy_pool
        exit_ = None if pool is None else parts.proxy.open_exit(pool, task.url)
        route = Route.UPSTREAM if self._tier in parts.upstream_tiers else Route.DIRECT
        # A context that was used with a caller's secrets or actions is not reused.
        is_plain = not (task.is_private or task.render.actions)
        purpose = ContextPurpose(
            caller=task.caller if is_plain else None,
            route=route if exit_ is None else Route.POOL,
            pool=pool,
        )
        try:
            async with parts.pools[task.render.profile].borrow_tab(
                purpose, task.claimant, None if task.is_for_job else task.queue_seconds
            ) as opened:
                opened.proxy_credentials.exit = exit_
                page = await self._visit(opened, task)
                opened.is_tidy = True
                opened.is_as_configured = task.screenshot is None
                return page if exit_ is None else replace(page, proxy_number=exit_.proxy.number)
        except ConnectionClosed as error:
            raise BrowserCrashed(self._ended) from error

    async def _visit(self, opened: WorkerTab, task: FetchTask) -> FetchedPage:
        is_blocked = self._parts.blocking.unwanted_hosts(task.url, block_ads=task.render.block_ads)
        may_connect = task.may_connect or (lambda _: True)
        opened.proxy_credentials.reset_refusals(
            is_unwanted=lambda host: not may_connect(host) or is_blocked(host)
        )
        headers = CallerHeaders(task.url, task.headers)
        identity = choose_identity(
            self._parts.identity,
            own_agent=opened.worker.user_agent,
            tier=self._tier,
            is_mobile=task.render.mobile,
        )
        wants_pictures = task.wants_images or task.screenshot is not None
        configuration = TabConfiguration(
            identity=replace(
                identity,
                user_agent=headers.user_agent or identity.user_agent,
                accept_language=headers.accept_language or identity.accept_language,
                headers=identity.headers | headers.open,
            ),
            headers=headers,
            interception=Interception(
                headers, blocks_pictures=not wants_pictures, may_land=task.may_land
            ),
            blocked=self._parts.blocking.parameters(
                task.url, block_ads=task.render.block_ads, block_pictures=not wants_pictures
            ),
            wait=self._parts.visit.wait,
            # Wrapped functions would show a page that it is watched.
            question=None if self._tier is ProxyTier.STEALTH else opened.question,
        )
        try:
            await opened.configure(configuration.commands())
            visit = Visit(opened.tab, task, self._parts.visit, opened.proxy_credentials)
            return await visit.run(configuration, self.name)
        except ConnectionClosed as error:
            failure = opened.worker.failure or opened.tab.failure
            if failure is None and not opened.worker.is_running:
                failure = opened.worker.loss  # the tab learns of it a moment later
            raise failure or error from error
        except CommandFailed as error:
            raise ScrapeFailed(f"The browser refused a command: {error}") from error


_NO_GUARD = "the connections of the remote browser (setting browser.cdp-url) leave where it runs"
_MAX_HOSTS = 50


class RemoteBrowserFetcher(BrowserFetcher):
    """Fetches pages with a remote browser, whose connections do not pass the egress proxy.

    The guard judges the requested URL before it is sent, and every page that the tab showed
    before anything of it is returned. Requests that need the proxy for more are refused.
    """

    _ended = "The connection to the remote browser (setting browser.cdp-url) broke"

    def __init__(self, tier: ProxyTier, parts: BrowserParts) -> None:
        super().__init__(tier, parts)
        self.name = f"remote-{self.name}"

    async def fetch(self, task: FetchTask) -> FetchedPage:
        """Render a URL in a new tab of the remote browser.

        Raises:
            Unsupported: the request needs the egress proxy.
        """
        self._require_no_proxy(task)
        await self._parts.proxy.judge(*host_and_port(task.url))
        return await super().fetch(task)

    def _require_no_proxy(self, task: FetchTask) -> None:
        if task.render.proxy_pool is not None:
            needs = "proxyPool works for pages without a browser only"
        elif self._tier in self._parts.upstream_tiers:
            needs = f"browser.proxy-server cannot be used with proxy {str(self._tier)!r}"
        elif task.may_connect is not None:
            needs = "a token with domains cannot run scripts"
        else:
            return
        raise Unsupported(f"Here {needs}: {_NO_GUARD}", url=task.url)

    async def _visit(self, opened: WorkerTab, task: FetchTask) -> FetchedPage:
        try:
            page = await super()._visit(opened, task)
        except CinderError:
            # An error's message may have words of the page.
            await self._judge_pages(opened.tab.origins)
            raise
        await self._judge_pages({*opened.tab.origins, origin_of(page.final_url)})
        return page

    async def _judge_pages(self, origins: Collection[str]) -> None:
        if len(origins) > _MAX_HOSTS:
            raise EgressBlocked(f"The page led to more than {_MAX_HOSTS} hosts")
        for origin in origins:
            await self._parts.proxy.judge(*host_and_port(origin))
