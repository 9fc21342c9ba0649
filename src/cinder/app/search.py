"""Builds the search providers and the search service from the settings."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from html import escape

from cinder.app.settings import settings_errors
from cinder.config.outbound import SearchEndpoint, SearchSettings
from cinder.config.settings import Settings
from cinder.documents.feeds import FEED_TAGS, first_tag, read_feed, read_json_feed
from cinder.egress.proxy import ForwardProxy
from cinder.fetch.http_client import ClientOptions, ProxiedClient
from cinder.metrics import Metrics
from cinder.models.search import LOCAL
from cinder.models.url import origin_of, parse_web_url
from cinder.search.base import Provider, ProviderQuery, SearchHttpClient
from cinder.search.brave import BRAVE_URL, BraveProvider
from cinder.search.duckduckgo import DUCKDUCKGO_URL, DuckDuckGoProvider
from cinder.search.hits import FoundItem
from cinder.search.json_endpoint import JsonEndpoint, JsonEndpointProvider, JsonMapping
from cinder.search.opensearch import OpenSearchProvider
from cinder.search.provider_server import parse_base_url
from cinder.search.provider_throttle import ProviderThrottle, SharedProviderThrottle
from cinder.search.searxng import SearxngProvider
from cinder.services.archive import Archive
from cinder.services.health import Check, check_with_address
from cinder.services.scraping.service import ScrapeService
from cinder.services.search.providers import LocalProvider, ProviderCaller, ProviderHealth
from cinder.services.search.ranked_list import RankedListCache
from cinder.services.search.result_ranking import ResultRanker, ResultReader, find_saved_text
from cinder.services.search.service import SearchLimits, SearchService
from cinder.text.content_type import decode_body
from cinder.worker_group import WorkerGroup
from cinder.xml_tree import parse_xml

_MAX_ANSWER_BYTES = 4 * 1024 * 1024
_MAX_CONCURRENCY = 8
_TRIAL = ProviderQuery(text="weather", caller="doctor", count=5)


@dataclass(frozen=True, slots=True)
class SearchProviders:
    """The configured search providers."""

    order: tuple[str, ...]
    """All names in order of preference; `local` is the store."""
    web: Mapping[str, Provider]
    """The web providers by name."""
    homes: Mapping[str, str] = field(default_factory=dict)
    """The origins from the settings by name, which only the owner sees."""

    @property
    def trials(self) -> dict[str, Check]:
        """Checks that run a search with each web provider."""

        def check_of(name: str) -> Check:
            async def search() -> None:
                await self.web[name].search(_TRIAL)

            return check_with_address(search, self.homes[name]) if name in self.homes else search

        return {f"search:{name}": check_of(name) for name in self.web}


@asynccontextmanager
async def open_search_providers(
    settings: Settings, proxy: ForwardProxy, group: WorkerGroup | None = None
) -> AsyncIterator[SearchProviders]:
    """Open the configured providers.

    Each has a client of its own. Only this client may connect to the provider's address in the
    settings, if that is private.

    Raises:
        SettingsError: an address, a key or a header cannot be used.
    """
    order = settings.search.providers
    web: dict[str, Provider] = {}
    homes: dict[str, str] = {}
    async with AsyncExitStack() as parts:
        for name in order:
            if name != LOCAL:
                with settings_errors():
                    plan = _plan(name, settings, group)
                    options = ClientOptions(
                        max_concurrency=_MAX_CONCURRENCY,
                        timeout_seconds=plan.timeout_seconds,
                        max_body_bytes=_MAX_ANSWER_BYTES,
                        accepts_packed=True,
                        impersonate=plan.impersonate,
                    )
                    own = () if plan.home is None else (plan.home,)
                    client = ProxiedClient(
                        proxy, options, homes=own, ca_file=settings.egress.ca_file
                    )
                    web[name] = plan.build(client)
                if plan.home is not None:
                    homes[name] = origin_of(plan.home)
                await parts.enter_async_context(client)
        yield SearchProviders(order, web, homes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProviderPlan:
    """How a provider is built, and the limits of its client."""

    build: Callable[[SearchHttpClient], Provider]
    timeout_seconds: float
    home: str | None
    """The address in the settings, if any."""
    impersonate: str | None = None


def _plan(name: str, settings: Settings, group: WorkerGroup | None) -> _ProviderPlan:
    search = settings.search
    if name == SearxngProvider.name:
        with _naming("search.searxng-url"):
            url = parse_base_url(search.searxng_url or "")
        return _ProviderPlan(
            build=lambda client: SearxngProvider(client, url),
            timeout_seconds=search.searxng_timeout_seconds,
            home=url,
        )
    if name == BraveProvider.name:
        key = search.brave_api_key.get_secret_value() if search.brave_api_key else ""
        home = _written_url("search.brave-url", search.brave_url)
        return _ProviderPlan(
            build=lambda client: BraveProvider(client, key, home or BRAVE_URL),
            timeout_seconds=search.brave_timeout_seconds,
            home=home,
        )
    if name == DuckDuckGoProvider.name:
        return _plan_duckduckgo(search, settings.scrape.impersonate, group)
    endpoint = search.endpoints[name]
    if endpoint.description_url is not None:
        with _naming(f"search.endpoints.{name}.description-url"):
            description_url = parse_web_url(endpoint.description_url)
        return _ProviderPlan(
            build=lambda client: OpenSearchProvider(name, client, description_url, read_feed_items),
            timeout_seconds=endpoint.timeout_seconds,
            home=description_url,
        )
    return _plan_json(name, endpoint, endpoint.url or "")


def _plan_duckduckgo(
    search: SearchSettings, impersonate: str, group: WorkerGroup | None
) -> _ProviderPlan:
    home = _written_url("search.duckduckgo-url", search.duckduckgo_url)
    own = ProviderThrottle(
        delay_seconds=search.duckduckgo_delay_seconds,
        rest_seconds=search.duckduckgo_rest_seconds,
        max_wait_seconds=search.duckduckgo_timeout_seconds,
    )
    path = None if group is None else group.directory / DuckDuckGoProvider.name
    throttle = own if path is None else SharedProviderThrottle(own, path)
    return _ProviderPlan(
        build=lambda client: DuckDuckGoProvider(client, throttle, home or DUCKDUCKGO_URL),
        timeout_seconds=search.duckduckgo_timeout_seconds,
        home=home,
        # It blocks clients that do not look like a browser.
        impersonate=impersonate,
    )


def _plan_json(name: str, endpoint: SearchEndpoint, template: str) -> _ProviderPlan:
    described = JsonEndpoint(
        url=template,
        headers={key: value.get_secret_value() for key, value in endpoint.headers.items()},
        mapping=JsonMapping(
            results=endpoint.results,
            url=endpoint.url_field,
            result_url=endpoint.result_url,
            title=endpoint.title_field,
            summary=endpoint.summary_field,
            date=endpoint.date_field,
            are_html=endpoint.html,
        ),
        first_page=endpoint.first_page,
        max_count=endpoint.max_count,
    )
    with _naming(f"search.endpoints.{name}.url"):
        # The address of the provider precedes the first placeholder.
        home = parse_web_url(template.partition("{")[0])
    return _ProviderPlan(
        build=lambda client: JsonEndpointProvider(name, client, described),
        timeout_seconds=endpoint.timeout_seconds,
        home=home,
    )


def _written_url(setting: str, text: str | None) -> str | None:
    with _naming(setting):
        return None if text is None else parse_base_url(text)


@contextmanager
def _naming(setting: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{setting}: {error}") from error


def read_feed_items(body: bytes, content_type: str) -> Iterator[FoundItem]:
    """Return the items of a feed.

    Raises:
        ValueError: the body is not a feed.
    """
    text = decode_body(body, content_type)
    feed = read_json_feed(text)
    if feed is None and first_tag(text) in FEED_TAGS:
        feed = read_feed(parse_xml(text))
    if feed is None:
        raise ValueError("it is neither RSS nor Atom nor JSON Feed")
    # Titles are plain text here, and FoundItem takes HTML.
    return (
        FoundItem(url=item.link, title=escape(item.title), summary=item.html, date=item.date)
        for item in feed.items
    )


def order_providers(
    order: Sequence[str], web: Mapping[str, Provider], local: LocalProvider
) -> list[Provider]:
    """Return the providers in order; the local one is last if the settings do not name it."""
    known: dict[str, Provider] = {LOCAL: local, **web}
    return [known[name] for name in dict.fromkeys((*order, LOCAL))]


def make_search(
    providers: Sequence[Provider],
    search: SearchSettings,
    *,
    scrape: ScrapeService,
    archive: Archive,
    metrics: Metrics,
) -> SearchService:
    """Return the search service."""
    return SearchService(
        providers=providers,
        provider_caller=ProviderCaller(ProviderHealth(), metrics),
        ranker=ResultRanker(ResultReader(scrape), partial(find_saved_text, archive)),
        cache=RankedListCache(max_results=search.held_results),
        metrics=metrics,
        limits=SearchLimits(searches_at_once=search.max_concurrency),
    )
