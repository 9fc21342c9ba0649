"""Settings for outbound work: egress, scraping, browsers, search, models, extraction."""

import re
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from cinder.config.section import (
    MEBIBYTE,
    CommaSeparated,
    CommaSeparatedArguments,
    CommaSeparatedPaths,
    CommaSeparatedUserAgents,
    OptionalSecret,
    OptionalText,
    SettingsSection,
)

_POOL_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")


class ProxyPoolSettings(BaseModel):
    """A pool of upstream proxies; `docs/proxies.md` describes the fields."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=lambda name: name.replace("_", "-"),
        populate_by_name=True,
    )

    proxies: tuple[SecretStr, ...] = Field(min_length=1, max_length=1_000)
    rotation: Literal["request", "host", "blocked"] = "request"
    backoff_seconds: float = Field(1, gt=0)
    max_backoff_seconds: float = Field(60, gt=0)


class EgressSettings(SettingsSection):
    """Egress: what cinder may connect to."""

    allow: CommaSeparated = ()
    """Exceptions to "public addresses only": exact `host:port` pairs or networks."""
    ports: CommaSeparated = ("80", "443", "8000-8999")
    """Ports that may be connected to; a `host:port` pair in `allow` needs no entry here."""
    dns_timeout_seconds: float = Field(5, gt=0)
    """How long a name may take to resolve."""
    connect_timeout_seconds: float = Field(10, gt=0)
    """How long a connection may take to open."""
    max_connections: int = Field(512, ge=1)
    """Connections through the egress proxy at once."""
    ca_file: Path | None = None
    """Certificate authorities to trust instead of the built-in ones (PEM). Browsers use the user's
    own certificate store instead."""
    proxy_pools: dict[str, ProxyPoolSettings] = Field(default_factory=dict)
    """Pools of upstream proxies by name, for requests with `proxyPool`; see `docs/proxies.md` for
    their fields."""

    @model_validator(mode="after")
    def _check_pools(self) -> Self:
        for name in self.proxy_pools:
            if not _POOL_NAME.fullmatch(name):
                raise ValueError(
                    f"proxy-pools (CINDER_EGRESS__PROXY_POOLS): {name!r} is no name for a pool: it "
                    "needs up to 32 lower-case letters, digits and -"
                )
        return self


class ScrapeSettings(SettingsSection):
    """Fetching pages and turning them into content."""

    strip_chrome_tags: bool = True
    """Whether navigation, headers, footers and sidebars are left out of a whole page."""
    remove_base64_images: bool = True
    """Whether images embedded as data: URLs are left out of a page's content."""
    navigate_timeout_ms: int = Field(30_000, ge=100)
    """How long a rendered page may take to load, within the request's timeout."""
    script_timeout_ms: int = Field(30_000, ge=100)
    """How long a script of a caller's actions may run, within the request's timeout."""
    smart_wait_enabled: bool = True
    """Whether to wait until a rendered page's text stops changing."""
    network_idle_timeout_ms: int = Field(1_000, ge=0)
    """How long to wait for a rendered page's network to be idle before its text is checked."""
    stability_check_interval_ms: int = Field(100, ge=10)
    """How often a rendered page's text is checked."""
    stability_max_wait_ms: int = Field(5_000, ge=0)
    """How long its text is checked at most."""
    stability_threshold: int = Field(2, ge=1)
    """Checks in a row with the same text after which a page is stable."""
    stability_length_change_threshold: float = Field(0.02, ge=0, le=1)
    """The share of its length by which the text may change and still count as the same."""
    max_body_bytes: int = Field(10 * MEBIBYTE, ge=1024)
    """Largest page accepted, after decompression."""
    stall_timeout_seconds: int = Field(30, ge=1)
    """How long a page that is fetched without a browser may arrive at less than 100 bytes a second,
    within the request's timeout."""
    max_redirects: int = Field(10, ge=0)
    """Redirects followed for one page."""
    max_retries: int = Field(2, ge=0)
    """How often a page is tried again after 429, 5xx or a connection error."""
    retry_wait_seconds: float = Field(0.5, ge=0)
    """The wait before the first retry; it doubles each time."""
    retry_wait_max_seconds: float = Field(20, ge=0)
    """The longest wait before a retry; a longer Retry-After means no retry."""
    impersonate: str = "chrome"
    """The browser whose TLS and header fingerprint static fetches use."""
    max_concurrency: int = Field(64, ge=1)
    """Pages fetched at once; further ones queue, and callers with fewer pages go first. One caller
    gets at most three quarters, once anyone but the owner has sent a request."""
    max_in_flight: int = Field(256, ge=1)
    """Pages processed at once, except those of jobs; further ones are refused as OVERLOADED, and
    earlier if pages wait long for a parser."""
    max_queued: int = Field(16, ge=0)
    """Pages that may queue beyond that, for up to a third of their timeout; further ones are
    refused as OVERLOADED."""
    max_in_flight_per_caller: int | None = Field(None, ge=1)
    """Pages of one caller among them; further ones are refused as RATE_LIMITED. When absent, three
    quarters of them, once anyone but the owner has sent a request."""
    extract_workers: int = Field(2, ge=1)
    """Processes that parse pages."""
    extract_timeout_seconds: float = Field(10, gt=0)
    """CPU seconds that parsing one page may take."""
    extract_wall_seconds: float = Field(120, gt=0)
    """How long parsing one page or PDF may take on a machine that leaves it little CPU time."""
    extract_memory_bytes: int = Field(1024 * MEBIBYTE, ge=128 * MEBIBYTE)
    """Memory that each of those processes may use."""
    extract_slow_after_seconds: float = Field(2, gt=0)
    """CPU seconds after which the parsing of a page moves to separate processes of a low
    priority."""
    extract_slow_workers: int = Field(2, ge=1)
    """Processes for such slow pages; one website never uses all of them, if there are at least
    two."""
    extract_slow_waiting: int = Field(64, ge=1)
    """Pages that may wait for one of those; further ones are refused as OVERLOADED."""
    pdf_workers: int = Field(1, ge=1)
    """Processes that parse PDF documents, separate from those for pages."""
    pdf_timeout_seconds: float = Field(15, gt=0)
    """CPU seconds that parsing one PDF may take."""
    pdf_memory_bytes: int = Field(640 * MEBIBYTE, ge=256 * MEBIBYTE)
    """Memory that each of those processes may use."""
    pdf_max_pages: int = Field(200, ge=1)
    """The most pages of a PDF that are parsed, even if maxPages is larger."""


class BrowserSettings(SettingsSection):
    """The browsers that render pages, and the profile that a person logs in with."""

    default_profile_id: str = "master"
    """The profile that `cinder open-browser` opens and that `profile: master` scrapes with."""
    master_user_data_root: Path | None = None
    """The folder of all browser profiles. When absent, `browser` in the data directory."""
    profile_id_regex: str = "[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
    """The pattern of a profile's name, which becomes the name of a folder."""
    worker_pool_min_size_per_process: int = Field(0, ge=0)
    """Browsers that each process keeps running; with 0 the first page that needs one starts it."""
    worker_pool_max_size_per_process: int = Field(4, ge=1)
    """Browsers that each process runs at most; each renders one page at a time. Jobs leave one
    free, and so does each caller, once anyone but the owner has sent a request."""
    queue_offer_timeout_ms: int = Field(30_000, ge=0)
    """How long a page waits for a free browser before it is refused as OVERLOADED; at most a third
    of its timeout, except in jobs."""
    queue_max_waiting: int = Field(16, ge=0)
    """Pages, except those of jobs, that may wait for a free browser; further ones are refused as
    OVERLOADED at once."""
    max_starting: int = Field(2, ge=1)
    """Browsers that start at the same time."""
    worker_idle_ms: int = Field(60_000, ge=0)
    """How long a browser beyond the minimum may be idle before it is closed."""
    worker_max_pages: int = Field(200, ge=1)
    """Pages after which a browser is replaced by a new one."""
    context_max_pages: int = Field(25, ge=1)
    """Pages of one caller that share a browser context, cleared in between; with 1, each page has
    its own."""
    max_memory_bytes: int = Field(1024 * MEBIBYTE, ge=256 * MEBIBYTE)
    """Memory that all processes of one browser may use together before it is killed."""
    start_timeout_ms: int = Field(20_000, ge=100)
    """How long a browser may take to start."""
    slave_headless: bool = True
    """Whether pages are rendered without a window; `false` needs a display."""
    master_login_args: CommaSeparatedArguments = ()
    """Further arguments for the browser of `cinder open-browser`."""
    master_login_initial_page_url: str = "about:blank"
    """The first page of `cinder open-browser`."""
    master_login_navigate_timeout_ms: int = Field(30_000, ge=100)
    """How long that page may take to load."""
    master_login_refresh_interval_ms: int = Field(1_000, ge=100)
    """How often `cinder open-browser` saves the logins and checks whether it was closed."""
    master_login_timeout_ms: int = Field(1_800_000, ge=1_000)
    """How long `cinder open-browser` stays open at most."""
    master_profile_lock_timeout_ms: int = Field(10_000, ge=0)
    """How long to wait for the profile while another process uses it."""
    browser_channel: Literal["auto", "headless-shell", "chromium"] = "auto"
    """Which Chromium renders: the headless shell, the full browser, or the shell if it is
    installed."""
    executable_path: Path | None = None
    """The browser to start, instead of the one that is found."""
    cdp_url: OptionalSecret = None
    """A remote browser that renders pages instead of a local one, except in the profile `master`:
    `ws://…`, `wss://…`, or the `http(s)://host:port` of its DevTools. Its connections do not pass
    the egress guard; see `docs/browser.md`."""
    cdp_max_message_bytes: int = Field(128 * MEBIBYTE, ge=MEBIBYTE)
    """Largest message of the remote browser; screenshots and pages are one message each."""
    sandbox: Literal["auto", "on", "off"] = "auto"
    """Chromium's own sandbox; `auto` uses it unless the user is root, for whom it does not work."""
    launch_args: CommaSeparatedArguments = ()
    """Further arguments for every browser that renders."""
    ignore_default_args: CommaSeparatedArguments = ()
    """Default arguments to leave out."""
    ignore_all_default_args: bool = False
    """Leave out all default arguments, except those that enforce the egress proxy."""
    user_agent: OptionalText = None
    """The user agent. When absent, that of the installed browser, without `Headless`."""
    user_agents: CommaSeparatedUserAgents = ()
    """Further user agents; each page gets a random one of all."""
    accept_language: str = "en-US,en"
    """The languages in the Accept-Language header and in `navigator.languages`."""
    locale: str = "en-US"
    """The locale of dates and numbers."""
    timezone_id: OptionalText = None
    """The time zone, such as `Europe/Berlin`. When absent, the machine's."""
    extra_headers: dict[str, str] = Field(default_factory=dict)
    """Headers sent with every request of every page."""
    proxy_server: OptionalText = None
    """An upstream proxy (`http://host:port` or `socks5://host:port`) for the connections of
    browsers."""
    proxy_username: str = ""
    """Its user name."""
    proxy_password: SecretStr = SecretStr("")
    """Its password."""
    proxy_bypass: CommaSeparated = ()
    """Hosts reached without it: `example.com`, or `.example.com` for all its subdomains."""
    proxy_tiers: CommaSeparated = ("basic", "stealth")
    """The values of a request's `proxy` that use it."""
    stealth_enabled: bool = True
    """Whether `proxy: stealth` hides the signs of a headless browser from scripts."""
    stealth_script: Path | None = None
    """A script to run before each page's own, in `proxy: stealth`, instead of the built-in one."""
    filter_lists: CommaSeparatedPaths = ()
    """Further lists of ads and trackers to block, as files in EasyList's format."""
    screenshot_max_height: int = Field(16_384, ge=100, le=32_768)
    """Largest height of a full-page screenshot in pixels."""


_PROVIDERS = ("local", "searxng", "brave", "duckduckgo")
_ENDPOINT_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")


class SearchEndpoint(BaseModel):
    """A search engine of the owner's own; `docs/search-providers.md` describes the fields.

    It has an OpenSearch description, or a URL that returns JSON and the paths of fields in it.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=lambda name: name.replace("_", "-"),
        populate_by_name=True,
    )

    description_url: str | None = None
    url: str | None = None
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    results: str = "results"
    url_field: str = "url"
    result_url: str | None = None
    title_field: str = "title"
    summary_field: str = "summary"
    date_field: str = "date"
    html: bool = False
    first_page: int = Field(1, ge=0, le=1)
    max_count: int = Field(20, ge=1, le=100)
    timeout_seconds: float = Field(10, gt=0)

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if (self.description_url is None) == (self.url is None):
            raise ValueError("Set either url or description-url")
        if self.description_url is not None:
            others = self.model_fields_set - {"description_url", "timeout_seconds"}
            if others:
                listed = ", ".join(sorted(name.replace("_", "-") for name in others))
                raise ValueError(f"With description-url there can be no {listed}")
        return self


class SearchSettings(SettingsSection):
    """Search of saved pages and of the web."""

    providers: CommaSeparated = ("local",)
    """The providers in the order of preference: `local` (saved pages), `searxng`, `brave`,
    `duckduckgo`, and names of `endpoints`. See `docs/search-providers.md`."""
    max_concurrency: int = Field(16, ge=1)
    """Searches that run at once; further ones wait as long as their time allows."""
    held_results: int = Field(20_000, ge=1_000)
    """Results of all searches that are cached, so that further pages of them stay consistent."""
    searxng_url: OptionalText = None
    """The start page of a SearXNG instance, which may be on a private address."""
    searxng_timeout_seconds: float = Field(10, gt=0)
    """How long it may take to answer."""
    brave_api_key: OptionalSecret = None
    """The key of a subscription to the Brave Search API."""
    brave_url: OptionalText = None
    """The URL of its web search, such as a gateway's. When absent, Brave's own URL."""
    brave_timeout_seconds: float = Field(10, gt=0)
    """How long it may take to answer."""
    duckduckgo_url: OptionalText = None
    """The URL of DuckDuckGo's page without scripts. When absent, its own URL."""
    duckduckgo_timeout_seconds: float = Field(10, gt=0)
    """How long it may take to answer, and how long a search may wait for its turn."""
    duckduckgo_delay_seconds: float = Field(2, ge=0)
    """The least time between two requests to it."""
    duckduckgo_rest_seconds: float = Field(600, ge=0)
    """How long requests pause after it took cinder for a bot; each further time doubles the
    pause."""
    endpoints: dict[str, SearchEndpoint] = Field(default_factory=dict)
    """Your own search engines by name; see `docs/search-providers.md` for their fields."""

    @model_validator(mode="after")
    def _check_providers(self) -> Self:
        for name in self.endpoints:
            if name in _PROVIDERS or not _ENDPOINT_NAME.fullmatch(name):
                raise ValueError(
                    f"{name!r} is no name for an endpoint: it needs lower-case letters, digits and "
                    f"-, and must be none of {', '.join(_PROVIDERS)}"
                )
        if len(set(self.providers)) < len(self.providers) or not self.providers:
            raise ValueError(
                "providers (CINDER_SEARCH__PROVIDERS) must name at least one provider, and each "
                "once"
            )
        known = (*_PROVIDERS, *self.endpoints)
        if unknown := next((name for name in self.providers if name not in known), None):
            raise ValueError(
                f"providers (CINDER_SEARCH__PROVIDERS): There is no {unknown!r}: name "
                f"{', '.join(_PROVIDERS)}, or describe it in [search.endpoints.{unknown}]"
            )
        if "searxng" in self.providers and self.searxng_url is None:
            raise ValueError(
                "The provider 'searxng' needs its address: set searxng-url "
                "(CINDER_SEARCH__SEARXNG_URL), such as http://127.0.0.1:8888"
            )
        if "brave" in self.providers and self.brave_api_key is None:
            raise ValueError(
                "The provider 'brave' needs a key: set brave-api-key (CINDER_SEARCH__BRAVE_API_KEY)"
            )
        return self


class LlmSettings(SettingsSection):
    """The language model, if there is one."""

    base_url: OptionalText = None
    """Its base URL, such as `http://127.0.0.1:11434/v1`, which may be a private address. When
    absent, no model is used. See `docs/language-models.md`."""
    api_key: OptionalSecret = None
    """Its API key, if it needs one."""
    model: OptionalText = None
    """The name of the model."""
    protocol: Literal["openai", "anthropic"] = "openai"
    """Its API: OpenAI's chat completions, or Anthropic's messages."""
    timeout_seconds: float = Field(120, gt=0)
    """How long one call may take."""
    max_retries: int = Field(2, ge=0)
    """How often a call is tried again after 429, 5xx or a connection error."""
    retry_wait_max_seconds: float = Field(20, ge=0)
    """The longest wait before a retry; a longer Retry-After means no retry."""
    max_concurrency: int = Field(4, ge=1)
    """Calls that one process makes at once; further ones wait."""
    max_output_tokens: int = Field(4096, ge=16)
    """Tokens of one answer; reasoning models need more."""
    max_calls: int = Field(20, ge=1)
    """Calls that one request may make."""
    max_tokens: int = Field(200_000, ge=1)
    """Tokens, sent and received, after which one request makes no further call."""
    max_seconds: float = Field(300, gt=0)
    """How long all calls of one request may take."""
    chunk_tokens: int = Field(6_000, ge=200)
    """Estimated tokens of a page in one call; fewer if the model's context is smaller."""

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        if self.base_url is not None and self.model is None:
            raise ValueError(
                "A language model needs its name: set model (CINDER_LLM__MODEL), such as qwen3:8b"
            )
        if self.base_url is None and (self.model is not None or self.api_key is not None):
            raise ValueError(
                "A language model needs its address: set base-url (CINDER_LLM__BASE_URL), such as "
                "http://127.0.0.1:11434/v1"
            )
        return self


class ExtractSettings(SettingsSection):
    """Extraction: data from pages, with proof."""

    max_urls: int = Field(10, ge=1, le=100)
    """Pages of one extraction."""
    max_output_bytes: int = Field(1_000_000, ge=1_000)
    """The most data that one extraction returns; the rest is left out, with a warning."""
    max_concurrency: int = Field(12, ge=1)
    """Pages that all extractions together fetch at once; further ones wait."""
    held_values: int = Field(20_000, ge=0)
    """Extracted values that each process caches."""
    recipes: bool = True
    """Whether the positions of values on a site's pages are learned as recipes, and tried first."""
    recipe_max_failures: int = Field(3, ge=1)
    """Pages in a row on which a recipe may fail before it is deleted."""
    max_recipes: int = Field(10_000, ge=1)
    """Recipes that are stored; beyond them, the longest unused are deleted."""
    recipe_days: int = Field(90, ge=1)
    """Days without use after which a recipe is deleted."""
