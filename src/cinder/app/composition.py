"""Builds every part from the settings, opens it, and closes it in reverse order."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from cinder.app.browser import (
    LogIn,
    OpenLogin,
    make_log_in,
    make_upstream,
    open_browsers,
    open_login_window,
    read_remote_url,
)
from cinder.app.extraction import (
    ConfiguredModel,
    make_extract_service,
    make_extractor,
    make_summarizer,
    open_language_model,
)
from cinder.app.jobs import JobNetwork, JobProcess, open_jobs
from cinder.app.oauth import open_access_tokens
from cinder.app.search import (
    SearchProviders,
    make_search,
    open_search_providers,
    order_providers,
)
from cinder.app.settings import settings_errors
from cinder.background import BackgroundTasks
from cinder.browser.engine import BrowserFetcher, RemoteBrowserFetcher
from cinder.config.outbound import EgressSettings, ProxyPoolSettings, ScrapeSettings
from cinder.config.settings import Settings
from cinder.egress.base import Resolver
from cinder.egress.dialers import Upstream
from cinder.egress.policy import AddressPolicy, Guard
from cinder.egress.pools import PoolOptions, PoolSetup, Rotation
from cinder.egress.proxy import ForwardProxy, ProxyLimits
from cinder.egress.resolver import SystemResolver
from cinder.fetch.base import Fetcher
from cinder.fetch.escalation import EngineEscalation, EngineStep, FetchRetryPolicy, SiteMemory
from cinder.fetch.static import StaticFetcher, StaticLimits
from cinder.metrics import Metrics, counting
from cinder.models.request import ProxyTier
from cinder.models.url import host_and_port
from cinder.sandbox.pool import ChildOptions, SlowLane
from cinder.sandbox.sandbox import ExtractionSandbox, Sandboxes
from cinder.services.archive import Archive, ReadRights, expire_forever
from cinder.services.auth import TokenService
from cinder.services.export.exporter import Exporter
from cinder.services.extraction.service import DocumentExtraction, ExtractService
from cinder.services.extraction.site_recipes import LearnedRecipes
from cinder.services.health import Check, Health, check_with_address
from cinder.services.jobs.control import JobControl
from cinder.services.jobs.site_files import RobotsCache
from cinder.services.scraping.admission import Admission, AdmissionLimits
from cinder.services.scraping.document_builder import ContentDefaults
from cinder.services.scraping.service import ContentProcessors, ScrapeService
from cinder.services.search.providers import LocalProvider
from cinder.services.search.service import SearchAndScrape, SearchService
from cinder.services.site_map import MapLimits, MapService
from cinder.services.text_tools import TextTools
from cinder.services.webhook_delivery import WebhookDelivery
from cinder.services.webhooks import JobEvents, check_webhook
from cinder.store import open_store
from cinder.store.database import StoreLimits
from cinder.store.documents import Store
from cinder.store.index.embeddings import find_embedder
from cinder.store.index.page_index import PageIndex
from cinder.worker_group import WorkerGroup

if TYPE_CHECKING:
    from cinder.services.oauth_tokens import AccessTokens
    from cinder.services.rate_limits import RateLimits


Clock: TypeAlias = Callable[[], datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The use cases of a running cinder, for the surfaces to call."""

    settings: Settings
    callers: TokenService
    access_tokens: "AccessTokens | None"
    """The access tokens of an authorization server; None if none is configured."""
    make_rate_limits: Callable[[], "RateLimits"]
    """Makes the rate limits, which only servers need."""
    scrape: ScrapeService
    site_map: MapService
    jobs: JobControl
    webhooks: WebhookDelivery
    exporter: Exporter
    archive: Archive
    search: SearchService
    search_and_scrape: SearchAndScrape
    extract: ExtractService
    recipes: LearnedRecipes
    index: PageIndex
    text_tools: TextTools
    search_providers: SearchProviders
    language_model: ConfiguredModel | None
    """None if none is configured."""
    health: Health
    metrics: Metrics
    render_metrics: Callable[[], Awaitable[bytes]]
    """Returns the metrics of the whole server in the Prometheus text format."""
    start_parsers: Callable[[], Awaitable[None]]
    """Starts the processes that parse pages of jobs before the first page."""
    log_in: LogIn | None
    """Lets a person log in with the master profile; None without a display."""


@asynccontextmanager
async def open_app(
    settings: Settings,
    *,
    resolver: Resolver | None = None,
    works_on_jobs: bool = False,
    group: WorkerGroup | None = None,
    clock: Clock = lambda: datetime.now(UTC),
) -> AsyncIterator[App]:
    """Open all parts that requests need, and close them at the end.

    Args:
        settings: the settings.
        resolver: resolves names instead of the system.
        works_on_jobs: whether this process runs jobs. Any process can start them.
        group: the other processes of a server with several workers.
        clock: the time of day.

    Raises:
        SettingsError: a part cannot be built from the settings.
        CacheFailed: the database cannot be opened.
    """
    metrics = Metrics()
    async with AsyncExitStack() as parts:
        store = await parts.enter_async_context(_make_store(settings, metrics, clock))
        resolver = resolver or make_resolver(settings.egress)
        proxy = await parts.enter_async_context(make_proxy(settings, resolver))
        fetcher = await parts.enter_async_context(_make_static_fetcher(settings, proxy))
        browsers = await parts.enter_async_context(open_browsers(settings, proxy, metrics))
        engines: dict[EngineStep, Fetcher] = {
            EngineStep.STATIC: fetcher,
            EngineStep.BROWSER: BrowserFetcher(ProxyTier.BASIC, browsers),
            EngineStep.STEALTH: BrowserFetcher(ProxyTier.STEALTH, browsers),
        }
        try_browser: Check = browsers.try_out
        if remote := read_remote_url(settings.browser):
            engines[EngineStep.REMOTE_BROWSER] = RemoteBrowserFetcher(ProxyTier.BASIC, browsers)
            engines[EngineStep.REMOTE_STEALTH] = RemoteBrowserFetcher(ProxyTier.STEALTH, browsers)
            try_browser = check_with_address(browsers.try_out, remote.origin)
        retries = FetchRetryPolicy(
            max_retries=settings.scrape.max_retries,
            first_wait_seconds=settings.scrape.retry_wait_seconds,
            max_wait_seconds=settings.scrape.retry_wait_max_seconds,
        )
        ladder = EngineEscalation(engines, retries, SiteMemory(), proxy.pools)
        sandbox = await parts.enter_async_context(
            _make_sandbox(settings.scrape, metrics, settings.scrape.extract_workers)
        )
        metrics.watch_lanes(sandbox.count_jobs)
        pdf_sandbox = await parts.enter_async_context(_make_pdf_sandbox(settings.scrape, metrics))
        # Jobs have processes of their own, so that single scrapes do not wait for them.
        job_sandbox = await parts.enter_async_context(
            _make_sandbox(settings.scrape, metrics, settings.jobs.extract_workers)
        )
        admission_limits = AdmissionLimits(
            most=settings.scrape.max_in_flight,
            most_per_caller=settings.scrape.max_in_flight_per_caller,
            # As many as keep the processes busy, while as many again are fetched.
            least=2 * settings.scrape.extract_workers,
            queued=settings.scrape.max_queued,
        )
        admission = Admission(admission_limits, recent_wait=sandbox.recent_wait)
        defaults = ContentDefaults(
            strip_chrome_tags=settings.scrape.strip_chrome_tags,
            remove_base64_images=settings.scrape.remove_base64_images,
            retention=timedelta(hours=settings.store.retention_hours),
            pdf_max_pages=settings.scrape.pdf_max_pages,
        )
        callers = TokenService(store.tokens, clock)
        access_tokens = await parts.enter_async_context(open_access_tokens(settings, proxy))
        language_model = await parts.enter_async_context(
            open_language_model(settings, proxy, metrics)
        )
        extractor, job_extractor = [
            make_extractor(settings.extract, pages, language_model, store.recipes, metrics)
            for pages in (sandbox, job_sandbox)
        ]
        summarizer = make_summarizer(language_model, metrics) if language_model else None
        scrape, job_scrape = [
            await parts.enter_async_context(
                ScrapeService(
                    store=store,
                    callers=callers,
                    escalation=ladder,
                    processors=ContentProcessors(
                        sandboxes=Sandboxes(pages=pages, pdfs=pdf_sandbox),
                        extraction=DocumentExtraction(finds, settings.extract.max_output_bytes),
                        summarizer=writes,
                        admission=admission,
                        clock=clock,
                    ),
                    metrics=metrics,
                    defaults=defaults,
                )
            )
            for pages, finds, writes in (
                (sandbox, extractor, summarizer),
                # A job would send a request to the model for each of its pages.
                (job_sandbox, job_extractor, None),
            )
        ]
        webhook_check = partial(check_webhook, policy_of=callers.policy_of, judge=proxy.judge)
        jobs = await parts.enter_async_context(
            open_jobs(
                settings,
                store,
                job_scrape,
                JobNetwork(fetcher, proxy, webhook_check),
                process=JobProcess(works_on_jobs, group),
                clock=clock,
            )
        )
        search_providers = await parts.enter_async_context(
            open_search_providers(settings, proxy, group)
        )
        tasks = await parts.enter_async_context(BackgroundTasks())
        tasks.start(
            expire_forever(store, settings.store.expiry_interval_seconds, JobEvents.of, clock)
        )
        parts.callback(tasks.cancel_all)
        rights = ReadRights(store, callers.policy_of)
        archive = Archive(store, rights)
        search = make_search(
            order_providers(
                search_providers.order, search_providers.web, LocalProvider(store.index, rights)
            ),
            settings.search,
            scrape=scrape,
            archive=archive,
            metrics=metrics,
        )
        text_tools = TextTools(sandbox)

        async def check_egress() -> None:
            _, writer = await asyncio.open_connection(*host_and_port(proxy.url))
            writer.close()
            await writer.wait_closed()

        yield App(
            settings=settings,
            callers=callers,
            access_tokens=access_tokens,
            make_rate_limits=partial(_make_rate_limits, settings, store, group),
            scrape=scrape,
            site_map=MapService(
                scraper=scrape,
                robots=RobotsCache(store.ledger, fetcher),
                fetcher=fetcher,
                index=store.index,
                policy_of=callers.policy_of,
                limits=MapLimits(
                    max_sitemaps=settings.map.max_sitemaps,
                    max_bytes=settings.map.max_bytes,
                    concurrency=settings.jobs.host_concurrency,
                    delay_seconds=settings.jobs.host_delay_ms / 1000,
                ),
            ),
            jobs=jobs.control,
            webhooks=jobs.webhooks,
            exporter=Exporter(store, scrape),
            archive=archive,
            search=search,
            search_and_scrape=SearchAndScrape(search, scrape, proxy.pools),
            extract=make_extract_service(
                settings.extract, extractor, sandbox, scrape, proxy_pools=proxy.pools
            ),
            recipes=LearnedRecipes(store.recipes),
            index=store.index,
            text_tools=text_tools,
            search_providers=search_providers,
            language_model=language_model,
            health=Health(
                {
                    "database": store.check,
                    "egress": check_egress,
                    "extraction": text_tools.check,
                    "browser": browsers.check,
                    "jobs": jobs.engine.check,
                },
                trials={
                    "browser": try_browser,
                    **{f"proxies:{name}": pool.check for name, pool in proxy.pools.items()},
                    **search_providers.trials,
                    **(language_model.trials if language_model else {}),
                    **({"oauth": access_tokens.check} if access_tokens else {}),
                },
                has_room=lambda: not store.is_full,
            ),
            metrics=metrics,
            render_metrics=_make_render_metrics(metrics, group),
            start_parsers=job_sandbox.start_all,
            log_in=make_log_in(settings, proxy),
        )


def make_resolver(egress: EgressSettings) -> SystemResolver:
    """Return the system's name resolution."""
    return SystemResolver(timeout_seconds=egress.dns_timeout_seconds)


def _make_store(settings: Settings, metrics: Metrics, clock: Clock) -> Store:
    with settings_errors():
        return open_store(
            settings.store_url,
            pool_size=settings.store.pool_size,
            limits=StoreLimits(
                max_bytes=settings.store.max_bytes,
                busy_seconds=settings.store.busy_timeout_seconds,
                memory_bytes=settings.store.memory_bytes,
            ),
            observe=metrics.observe_query,
            clock=clock,
            embedder=find_embedder(),
        )


def _make_render_metrics(
    metrics: Metrics, group: WorkerGroup | None
) -> Callable[[], Awaitable[bytes]]:
    if group is None:

        async def render() -> bytes:
            return metrics.render()

        return render
    # Only servers with several workers need it.
    from cinder.app.group_metrics import GroupMetrics  # noqa: PLC0415

    return GroupMetrics(metrics, group).render


def _make_rate_limits(settings: Settings, store: Store, group: WorkerGroup | None) -> "RateLimits":
    # The library is slow to import, and the command line and MCP over stdio do not need it.
    from cinder.app.rate_limits import make_rate_limits  # noqa: PLC0415

    # Several servers can share a PostgreSQL database, but not SQLite.
    is_alone = settings.store_url.startswith("sqlite:")
    scratch = None if group is None else group.directory / "counts.db"
    return make_rate_limits(settings.server, None if is_alone else store.counts, scratch)


def make_proxy(settings: Settings, resolver: Resolver) -> ForwardProxy:
    """Return the proxy that all connections leave through.

    Raises:
        SettingsError: the egress rules are invalid.
    """
    egress = settings.egress
    with settings_errors():
        upstream = make_upstream(settings.browser)
        pools = {name: _make_pool(name, pool) for name, pool in egress.proxy_pools.items()}
        policy = AddressPolicy.from_rules(allow=egress.allow, ports=egress.ports)
    limits = ProxyLimits(
        connect_timeout_seconds=egress.connect_timeout_seconds,
        max_connections=egress.max_connections,
    )
    return ForwardProxy(Guard(policy, resolver), limits, upstream=upstream, pools=pools)


def _make_pool(name: str, pool: ProxyPoolSettings) -> PoolSetup:
    setting = f"egress.proxy-pools.{name}"
    return PoolSetup(
        proxies=tuple(
            Upstream.from_url(
                proxy.get_secret_value(),
                name=f"proxy {number} of the pool {name!r} ({setting})",
                setting=f"{setting}: proxy {number}",
            )
            for number, proxy in enumerate(pool.proxies, 1)
        ),
        options=PoolOptions(
            rotation=Rotation(pool.rotation),
            first_backoff_seconds=pool.backoff_seconds,
            max_backoff_seconds=pool.max_backoff_seconds,
        ),
    )


def _make_static_fetcher(settings: Settings, proxy: ForwardProxy) -> StaticFetcher:
    limits = StaticLimits(
        max_body_bytes=settings.scrape.max_body_bytes,
        max_redirects=settings.scrape.max_redirects,
        max_concurrency=settings.scrape.max_concurrency,
        stall_seconds=settings.scrape.stall_timeout_seconds,
    )
    with settings_errors():
        return StaticFetcher(
            proxy,
            limits,
            impersonate=settings.scrape.impersonate,
            ca_file=settings.egress.ca_file,
        )


def _make_sandbox(scrape: ScrapeSettings, metrics: Metrics, workers: int) -> ExtractionSandbox:
    return ExtractionSandbox(
        workers=workers,
        timeout_seconds=scrape.extract_timeout_seconds,
        memory_bytes=scrape.extract_memory_bytes,
        slow=SlowLane(
            after_seconds=scrape.extract_slow_after_seconds,
            workers=scrape.extract_slow_workers,
            waiting=scrape.extract_slow_waiting,
        ),
        children=ChildOptions(wall_seconds=scrape.extract_wall_seconds),
        count=counting(metrics.extractions),
    )


def _make_pdf_sandbox(scrape: ScrapeSettings, metrics: Metrics) -> ExtractionSandbox:
    # PDFs have processes of their own, so that pages do not wait for them.
    return ExtractionSandbox(
        workers=scrape.pdf_workers,
        timeout_seconds=scrape.pdf_timeout_seconds,
        memory_bytes=scrape.pdf_memory_bytes,
        # All PDFs are slow. A slow lane would start more processes than the settings allow.
        slow=SlowLane(workers=0),
        # Few jobs for each process: pdfium keeps memory of earlier files.
        children=ChildOptions(
            jobs_per_worker=50, settings="scrape.pdf", wall_seconds=scrape.extract_wall_seconds
        ),
        count=counting(metrics.extractions),
    )


@asynccontextmanager
async def open_login_browser(
    settings: Settings, *, url: str | None = None, resolver: Resolver | None = None
) -> AsyncIterator[OpenLogin]:
    """Open a browser window on the master profile, and hold its lock until the exit.

    Raises:
        SettingsError: the settings do not allow it.
        ProfileLocked: another process uses the profile.
        BrowserUnavailable: there is no browser, or no display.
    """
    async with AsyncExitStack() as opened:
        resolver = resolver or make_resolver(settings.egress)
        proxy = await opened.enter_async_context(make_proxy(settings, resolver))
        yield await opened.enter_async_context(open_login_window(settings, proxy, url=url))
