"""Settings: read once, from cinder.toml, then CINDER_… variables, then the command line.

In cinder.toml a setting is written in kebab-case below its section; in the environment as
``CINDER_SECTION__SETTING``. `docs/settings.md` lists them all and a test keeps it true.
"""

import ipaddress
import os
import re
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

MEBIBYTE = 1024 * 1024
CONFIG_VARIABLE = "CINDER_CONFIG"

_PROVIDERS = ("local", "searxng", "brave", "duckduckgo")
_ENDPOINT_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")


class SettingsError(ValueError):
    """The settings cannot be used as they are."""


def _split_commas(value: object) -> object:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _absent_if_blank(value: object) -> object:
    # What `${TOKEN:-}` leaves in a compose file: no token, and not the token "".
    return None if isinstance(value, str) and not value.strip() else value


# NoDecode: pydantic-settings would otherwise insist on JSON for a list in the environment.
CommaSeparated = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_commas)]


class Section(BaseModel):
    """A group of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class ServerSettings(Section):
    """The HTTP server."""

    host: str = "127.0.0.1"
    """Address to listen on. Beyond loopback, a configured api-token is required."""
    port: int = Field(8000, ge=0, le=65535)
    """Port to listen on; 0 takes any free one."""
    api_token: Annotated[SecretStr | None, BeforeValidator(_absent_if_blank)] = None
    """The bearer token callers must send. When absent, the first start makes one and keeps it in
    the data directory."""
    auth: Literal["on", "off"] = "on"
    """Whether callers must send the token. `off` is allowed on loopback only."""
    allowed_hosts: CommaSeparated = ()
    """Host names, beside loopback, under which the server may be addressed: at /mcp, and everywhere
    while auth is off."""
    max_request_bytes: int = Field(4 * MEBIBYTE, ge=1024)
    """Largest request body accepted."""
    max_connections: int = Field(1000, ge=10)
    """Connections open at once; beyond them, requests are answered 503."""
    max_streams_per_caller: int = Field(32, ge=1)
    """Streams of events that one caller may have open; further ones are refused as RATE_LIMITED."""
    max_head_bytes: int = Field(MEBIBYTE, ge=512 * 1024)
    """Largest head of a request; what arrives with it of the body counts as well."""
    head_timeout_seconds: float = Field(30, gt=0)
    """How long a request's head may take to arrive."""
    body_timeout_seconds: float = Field(60, gt=0)
    """How long a request's body may take to arrive."""
    result_max_chars: int = Field(100_000, ge=100)
    """Characters of each text format in a REST answer, unless the request says otherwise."""
    mcp_result_max_chars: int = Field(20_000, ge=100)
    """Characters of text in an MCP answer, unless the request says otherwise."""
    mcp_image_max_edge_pixels: int = Field(1568, ge=64, le=8000)
    """Longest edge of a screenshot in an MCP answer; a larger one is scaled down to it."""
    mcp_call_seconds: int = Field(50, ge=1, le=50)
    """How long a page may take within an MCP call, as clients give up after about 60 seconds. What
    takes longer goes on in the background, where it may."""
    mcp_toolsets: CommaSeparated = ()
    """Groups of tools to offer over MCP, such as `default,extract` or `all`. When absent, the
    default group is listed, and the others can still be called."""
    mcp_tools: CommaSeparated = ()
    """Single tools to offer over MCP, beside those of mcp-toolsets."""
    mcp_read_only: bool = False
    """Whether MCP clients can do nothing on a page but read: no clicks, no typing, no scripts."""
    result_max_chars_ceiling: int = Field(1_000_000, ge=100)
    """The most that a request may ask for with maxChars."""
    rate_limit: str = "1200/minute"
    """Requests that each token may send; the owner's own is not counted. Empty for no limit."""
    address_rate_limit: str = "6000/minute"
    """Requests from one address beyond this machine; of IPv6, from one network of 64 bits."""
    failed_login_limit: str = "30/minute"
    """Requests with a wrong token from one address; beyond it, not even a right one is tried,
    except from this machine itself."""
    trusted_proxies: CommaSeparated = ()
    """Addresses or networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto
    count."""
    shutdown_seconds: int = Field(10, ge=0)
    """How long running requests may take to finish once the server is told to stop."""


class StoreSettings(Section):
    """What is kept, where and how long."""

    url: str | None = None
    """Database: `sqlite:///path` or `postgresql://…`. When absent, cinder.db in the data
    directory."""
    retention_hours: float = Field(30 * 24, gt=0)
    """How long a saved version stays readable."""
    expiry_interval_seconds: float = Field(300, gt=0)
    """How often what has expired is deleted."""
    max_bytes: int = Field(50 * 1024 * MEBIBYTE, ge=16 * MEBIBYTE)
    """Largest size of the file that SQLite keeps all in; beyond it, saving answers STORAGE_FULL."""
    pool_size: int = Field(8, ge=1)
    """Database connections for reading at once."""


class EgressSettings(Section):
    """The one door out: what cinder may connect to."""

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
    """Certificate authorities to trust instead of the built-in ones (PEM). Browsers go by
    the user's own certificate store instead, and refuse what is not signed by that."""


class ScrapeSettings(Section):
    """Fetching pages and turning them into content."""

    strip_chrome_tags: bool = True
    """Whether navigation, headers, footers and side bars are left out of a whole page."""
    remove_base64_images: bool = True
    """Whether images embedded as data: URLs are left out of a page's content."""
    navigate_timeout_ms: int = Field(30_000, ge=100)
    """How long a rendered page may take to load, within the request's timeout."""
    script_timeout_ms: int = Field(30_000, ge=100)
    """How long a script of a caller's actions may run, within the request's timeout."""
    smart_wait_enabled: bool = True
    """Whether a rendered page is watched until its text has stopped changing."""
    network_idle_timeout_ms: int = Field(1_000, ge=0)
    """How long a rendered page's network may take to fall quiet before its text is watched."""
    stability_check_interval_ms: int = Field(100, ge=10)
    """How often a rendered page's text is looked at."""
    stability_max_wait_ms: int = Field(5_000, ge=0)
    """How long that goes on at most."""
    stability_threshold: int = Field(2, ge=1)
    """Looks in a row at which the text must not have changed."""
    stability_length_change_threshold: float = Field(0.02, ge=0, le=1)
    """The share of its length by which the text may differ and still count as unchanged."""
    max_body_bytes: int = Field(10 * MEBIBYTE, ge=1024)
    """Largest page accepted, after decompression."""
    stall_timeout_seconds: int = Field(30, ge=1)
    """How long a page that is fetched without a browser may come at less than 100 bytes a second,
    or not at all, within the request's timeout."""
    max_redirects: int = Field(10, ge=0)
    """Redirects followed for one page."""
    max_retries: int = Field(2, ge=0)
    """How often a page is tried again after 429, 5xx or a connection error."""
    retry_wait_seconds: float = Field(0.5, ge=0)
    """The wait before the first retry; it doubles each time."""
    retry_wait_max_seconds: float = Field(20, ge=0)
    """The longest wait before a retry; a Retry-After beyond it is not waited for."""
    impersonate: str = "chrome"
    """The browser whose TLS and header fingerprint static fetches show."""
    max_concurrency: int = Field(64, ge=1)
    """Pages fetched at once; further ones wait, those of the caller with the fewest the shortest.
    One caller has at most three quarters, once anybody but the owner has asked."""
    max_in_flight: int = Field(256, ge=1)
    """Pages that may be under way for those who wait for them, jobs' not counted; further ones are
    refused as OVERLOADED, and sooner where they would have to wait long to be parsed."""
    max_in_flight_per_caller: int | None = Field(None, ge=1)
    """Of those, pages of one caller; further ones are refused as RATE_LIMITED. When absent, three
    quarters of them, once anybody but the owner has asked."""
    extract_workers: int = Field(2, ge=1)
    """Processes that turn pages into content."""
    extract_timeout_seconds: float = Field(10, gt=0)
    """How long turning one page into content may take."""
    extract_memory_bytes: int = Field(1024 * MEBIBYTE, ge=128 * MEBIBYTE)
    """Memory that each of those processes may take."""
    extract_slow_after_seconds: float = Field(0.5, gt=0)
    """CPU seconds that turning a page into content may take beside ordinary pages; then it moves
    to processes of its own, of a low priority."""
    extract_slow_workers: int = Field(2, ge=1)
    """Processes for pages that take longer; one website never has all of them, if there are two."""
    extract_slow_waiting: int = Field(64, ge=1)
    """Pages that may wait for one of those; further ones are refused as OVERLOADED."""
    pdf_workers: int = Field(1, ge=1)
    """Processes that parse PDF documents, apart from those for pages."""
    pdf_timeout_seconds: float = Field(15, gt=0)
    """How long parsing one PDF may take."""
    pdf_memory_bytes: int = Field(640 * MEBIBYTE, ge=256 * MEBIBYTE)
    """Memory that each of those processes may take."""
    pdf_max_pages: int = Field(200, ge=1)
    """Pages of a PDF that are parsed at most, whatever maxPages says."""


class BrowserSettings(Section):
    """The browsers that render pages, and the profile that a person logs in with."""

    default_profile_id: str = "master"
    """The profile that `cinder open-browser` opens and that `profile: master` scrapes with."""
    master_user_data_root: Path | None = None
    """Where all browsers keep their user data. When absent, `browser` in the data directory."""
    profile_id_regex: str = "[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
    """What a profile's name must look like; it becomes the name of a folder."""
    worker_pool_min_size_per_process: int = Field(0, ge=0)
    """Browsers that each process keeps running; with 0 the first page that needs one starts it."""
    worker_pool_max_size_per_process: int = Field(4, ge=1)
    """Browsers that each process runs at most; each renders one page at a time. Jobs leave one
    free, and so does each caller, once anybody but the owner has asked."""
    queue_offer_timeout_ms: int = Field(30_000, ge=0)
    """How long a page waits for a free browser before it is refused as OVERLOADED."""
    worker_idle_ms: int = Field(60_000, ge=0)
    """How long a browser beyond the least number may be idle before it is closed."""
    worker_max_pages: int = Field(200, ge=1)
    """Pages after which a browser is replaced by a new one."""
    context_max_pages: int = Field(25, ge=1)
    """Pages of one caller that share a browser context, cleared in between; with 1, each page has
    its own."""
    max_memory_bytes: int = Field(1024 * MEBIBYTE, ge=256 * MEBIBYTE)
    """Memory that one browser, all its processes together, may take before it is ended."""
    start_timeout_ms: int = Field(20_000, ge=100)
    """How long a browser may take to start."""
    slave_headless: bool = True
    """Whether pages are rendered without a window; `false` needs a display."""
    master_login_args: tuple[str, ...] = ()
    """Further arguments for the browser of `cinder open-browser`."""
    master_login_initial_page_url: str = "about:blank"
    """The page that `cinder open-browser` begins with."""
    master_login_navigate_timeout_ms: int = Field(30_000, ge=100)
    """How long that page may take to load."""
    master_login_refresh_interval_ms: int = Field(1_000, ge=100)
    """How often `cinder open-browser` saves the logins made so far and looks whether it was
    closed."""
    master_login_timeout_ms: int = Field(1_800_000, ge=1_000)
    """How long `cinder open-browser` stays open at most."""
    master_profile_lock_timeout_ms: int = Field(10_000, ge=0)
    """How long the profile is waited for while another process uses it."""
    browser_channel: Literal["auto", "headless-shell", "chromium"] = "auto"
    """Which Chromium renders: the lean headless shell, the full browser, or the shell where there
    is one."""
    executable_path: Path | None = None
    """The browser to start, instead of one that is found."""
    sandbox: Literal["auto", "on", "off"] = "auto"
    """Chromium's own sandbox; `auto` has it wherever the user is not root, who cannot."""
    launch_args: tuple[str, ...] = ()
    """Further arguments for every browser that renders."""
    ignore_default_args: tuple[str, ...] = ()
    """Arguments that cinder gives by default and that are to be left out."""
    ignore_all_default_args: bool = False
    """Leave out all of those; what keeps browsers behind the egress proxy stays."""
    user_agent: Annotated[str | None, BeforeValidator(_absent_if_blank)] = None
    """The user agent to show. When absent, that of the installed browser, without `Headless`."""
    user_agents: tuple[str, ...] = ()
    """Further user agents; each page gets one of all by chance."""
    accept_language: str = "en-US,en"
    """The languages asked for, and told to scripts."""
    locale: str = "en-US"
    """How dates and numbers are written."""
    timezone_id: Annotated[str | None, BeforeValidator(_absent_if_blank)] = None
    """The time zone shown, such as `Europe/Berlin`. When absent, the machine's."""
    extra_headers: dict[str, str] = Field(default_factory=dict)
    """Headers sent with every request of every page."""
    proxy_server: Annotated[str | None, BeforeValidator(_absent_if_blank)] = None
    """An upstream HTTP proxy (`http://host:port`) that browsers' connections leave through."""
    proxy_username: str = ""
    """Its user name."""
    proxy_password: SecretStr = SecretStr("")
    """Its password."""
    proxy_bypass: CommaSeparated = ()
    """Hosts reached without it: `example.com`, or `.example.com` for all beneath it."""
    proxy_tiers: CommaSeparated = ("basic", "stealth")
    """The values of a request's `proxy` that use it."""
    stealth_enabled: bool = True
    """Whether `proxy: stealth` hides the marks by which scripts tell a headless browser."""
    stealth_script: Path | None = None
    """A script to run before each page's own, in `proxy: stealth`, instead of the built-in one."""
    filter_lists: tuple[Path, ...] = ()
    """Further lists of ads and trackers to block, as files in EasyList's format."""
    screenshot_max_height: int = Field(16_384, ge=100, le=32_768)
    """Pixels at which a full-page screenshot ends."""


class JobsSettings(Section):
    """Batches and crawls: work in the background."""

    enabled_in_server: bool = True
    """Whether servers work on jobs themselves; on PostgreSQL, `cinder worker` processes can."""
    slots: int = Field(4, ge=1)
    """Jobs that one process works on at once, of each caller who has any an equal part."""
    concurrency: int = Field(8, ge=1)
    """Pages of one job that one process works on at once."""
    workers_per_job: int = Field(4, ge=1)
    """Processes that work on one job at once, where there are that many."""
    host_concurrency: int = Field(4, ge=1)
    """Pages of one host that are asked for at once, by all processes together."""
    host_delay_ms: int = Field(0, ge=0)
    """The least time between two requests to one host; a site's crawl-delay may make it longer."""
    lease_seconds: float = Field(30, gt=0, le=600)
    """How long a page belongs to the process that fetches it, unless that says it still does."""
    slice_seconds: float = Field(10, gt=0)
    """How long a process works on one job before it looks whether another waits."""
    page_timeout_ms: int = Field(60_000, ge=1000)
    """How long one page of a crawl may take."""
    extract_workers: int = Field(2, ge=1)
    """Processes that turn pages of jobs into content, apart from those for single scrapes."""
    retention_hours: float = Field(24, gt=0)
    """How long the pages of a job can be listed; saved pages are kept for longer."""
    max_open: int = Field(1_000, ge=1)
    """Jobs that may be under way; further ones are refused as OVERLOADED."""
    max_open_per_caller: int = Field(200, ge=1)
    """Jobs of one caller that may be under way; further ones are refused as RATE_LIMITED."""
    max_batch_urls: int = Field(10_000, ge=1)
    """URLs that one batch may have."""
    max_pages: int = Field(100_000, ge=1)
    """Pages that one crawl may have."""
    max_bytes: int = Field(10 * 1024 * MEBIBYTE, ge=1024)
    """Bytes that the pages of one job may have together, unpacked; it ends at the page beyond."""


class WebhooksSettings(Section):
    """Telling others how jobs go."""

    secret: SecretStr = SecretStr("")
    """What events are signed with where a request names no secret; without one, each job gets its
    own."""
    concurrency: int = Field(8, ge=1)
    """Events that one process delivers at once."""
    timeout_seconds: float = Field(10, gt=0, lt=60)
    """How long a receiver may take to answer."""


class SearchEndpoint(BaseModel):
    """A search engine of the owner's own; `docs/search-providers.md` tells what each field is.

    It has an OpenSearch description, or a URL that answers with JSON and where that has what.
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
            given = self.model_fields_set - {"description_url", "timeout_seconds"}
            if given:
                listed = ", ".join(sorted(name.replace("_", "-") for name in given))
                raise ValueError(f"With description-url there can be no {listed}")
        return self


class SearchSettings(Section):
    """Searching: what cinder has seen, and the web."""

    providers: CommaSeparated = ("local",)
    """Who is asked, the first choice first: `local` (what cinder has saved), `searxng`, `brave`,
    `duckduckgo`, and names of `endpoints`. See `docs/search-providers.md`."""
    max_concurrency: int = Field(16, ge=1)
    """Searches that are made at once; further ones wait as long as they have time."""
    held_results: int = Field(20_000, ge=1_000)
    """Results of all searches that are held in memory, so that further pages of them stay true."""
    searxng_url: Annotated[str | None, BeforeValidator(_absent_if_blank)] = None
    """The start page of a SearXNG instance, which may be on a private address."""
    searxng_timeout_seconds: float = Field(10, gt=0)
    """How long it may take to answer."""
    brave_api_key: Annotated[SecretStr | None, BeforeValidator(_absent_if_blank)] = None
    """The key of a subscription to the Brave Search API."""
    brave_url: Annotated[str | None, BeforeValidator(_absent_if_blank)] = None
    """Where its web search is asked, such as a gateway. When absent, Brave's own address."""
    brave_timeout_seconds: float = Field(10, gt=0)
    """How long it may take to answer."""
    duckduckgo_url: Annotated[str | None, BeforeValidator(_absent_if_blank)] = None
    """Where DuckDuckGo's page without scripts is asked for. When absent, its own address."""
    duckduckgo_timeout_seconds: float = Field(10, gt=0)
    """How long it may take to answer, and how long a search waits for its turn to ask."""
    duckduckgo_delay_seconds: float = Field(2, ge=0)
    """The least time between two questions to it."""
    duckduckgo_rest_seconds: float = Field(600, ge=0)
    """How long it is left alone after it took cinder for a machine; each further time doubles
    that."""
    endpoints: dict[str, SearchEndpoint] = Field(default_factory=dict)
    """Search engines of your own by name: `docs/search-providers.md` has what each takes."""

    @model_validator(mode="after")
    def _check_providers(self) -> Self:
        for name in self.endpoints:
            if name in _PROVIDERS or not _ENDPOINT_NAME.fullmatch(name):
                raise ValueError(
                    f"{name!r} is no name for an endpoint: it needs lower-case letters, digits and "
                    f"-, and must be none of {', '.join(_PROVIDERS)}"
                )
        if len(set(self.providers)) < len(self.providers) or not self.providers:
            raise ValueError("providers must name at least one provider, and each once")
        for name in self.providers:
            self._check_provider(name)
        return self

    def _check_provider(self, name: str) -> None:
        if name not in (*_PROVIDERS, *self.endpoints):
            raise ValueError(
                f"There is no provider {name!r}: name {', '.join(_PROVIDERS)}, or describe it in "
                f"[search.endpoints.{name}]"
            )
        if name == "searxng" and self.searxng_url is None:
            raise ValueError(
                "The provider 'searxng' needs its address: set searxng-url "
                "(CINDER_SEARCH__SEARXNG_URL), such as http://127.0.0.1:8888"
            )
        if name == "brave" and self.brave_api_key is None:
            raise ValueError(
                "The provider 'brave' needs a key: set brave-api-key (CINDER_SEARCH__BRAVE_API_KEY)"
            )


class LlmSettings(Section):
    """The language model, if there is one."""

    base_url: Annotated[str | None, BeforeValidator(_absent_if_blank)] = None
    """Where it is asked, such as `http://127.0.0.1:11434/v1`; it may be a private address. When
    absent, no model is used. See `docs/language-models.md`."""
    api_key: Annotated[SecretStr | None, BeforeValidator(_absent_if_blank)] = None
    """The key that it wants, if it wants one."""
    model: Annotated[str | None, BeforeValidator(_absent_if_blank)] = None
    """The model's name there."""
    protocol: Literal["openai", "anthropic"] = "openai"
    """How it is spoken to: OpenAI's chat completions, or Anthropic's messages."""
    timeout_seconds: float = Field(120, gt=0)
    """How long one call may take."""
    max_retries: int = Field(2, ge=0)
    """How often a call is tried again after 429, 5xx or a connection error."""
    retry_wait_max_seconds: float = Field(20, ge=0)
    """The longest wait before a retry; a Retry-After beyond it is not waited for."""
    max_concurrency: int = Field(4, ge=1)
    """Calls that one process makes at once; further ones wait."""
    max_output_tokens: int = Field(4096, ge=16)
    """Tokens that one answer may have; a model that thinks aloud first needs more."""
    max_calls: int = Field(20, ge=1)
    """Calls that one request may take."""
    max_tokens: int = Field(200_000, ge=1)
    """Tokens, sent and received, after which one request makes no further call."""
    max_seconds: float = Field(300, gt=0)
    """How long all calls of one request may take."""
    chunk_tokens: int = Field(6_000, ge=200)
    """Tokens of a page, by estimate, that one call carries; fewer where the model reads fewer."""

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


class ExtractSettings(Section):
    """Extraction: data from pages, with proof."""

    max_urls: int = Field(10, ge=1, le=100)
    """Pages that one extraction may be about."""
    max_output_bytes: int = Field(1_000_000, ge=1_000)
    """The most data that one extraction returns; the rest is left out, and said so."""
    max_concurrency: int = Field(12, ge=1)
    """Pages that all extractions together fetch at once; further ones wait."""
    held_values: int = Field(20_000, ge=0)
    """Values that the process keeps of what it found, lest the same is looked for again."""
    recipes: bool = True
    """Whether where a site's pages hold a schema's values is learned, and tried first next time."""
    recipe_max_failures: int = Field(3, ge=1)
    """Pages in a row on which a recipe may miss before it is dropped."""
    max_recipes: int = Field(10_000, ge=1)
    """Recipes that are kept; beyond, the longest unused go."""
    recipe_days: int = Field(90, ge=1)
    """Days after which a recipe goes that was not tried."""


class OauthSettings(Section):
    """Tokens of an authorization server, which open /mcp beside cinder's own."""

    issuer: Annotated[str | None, BeforeValidator(_absent_if_blank)] = None
    """The authorization server, as its tokens name it. Without one, nothing of OAuth is served."""
    resource: str | None = None
    """The URL under which clients reach /mcp, for which tokens must be made."""
    scope_prefix: str = ""
    """What the issuer puts before `read`, `scrape` and `crawl`, such as `cinder:`."""


class LimitsSettings(Section):
    """What one request may ask for; see also `server.max-request-bytes`."""

    json_depth: int = Field(64, ge=4, le=150)
    """Levels of objects and lists within each other."""
    list_items: int = Field(10_000, ge=1)
    """Entries of any list but the URLs of a batch."""
    object_keys: int = Field(10_000, ge=100)
    """Members of any object in it."""
    actions: int = Field(50, ge=0, le=500)
    """Browser actions on one page."""
    selectors: int = Field(100, ge=0, le=1_000)
    """Selectors in `includeTags`, and as many in `excludeTags`."""
    selector_chars: int = Field(2_000, ge=1)
    """Characters of one selector."""
    patterns: int = Field(50, ge=0, le=50)
    """Patterns in `includePatterns`, and as many in `excludePatterns`."""
    pattern_chars: int = Field(1_000, ge=1, le=1_000)
    """Characters of one pattern."""
    headers: int = Field(100, ge=0, le=100)
    """Headers to send along."""
    header_bytes: int = Field(16_384, ge=1, le=16_384)
    """Size of one header's value."""
    schema_properties: int = Field(500, ge=1, le=500)
    """Properties in the schema of an extraction, those of objects within it included."""
    claims: int = Field(1_000, ge=0, le=1_000)
    """Values to verify in one extraction."""


class LogSettings(Section):
    """Logs: one JSON object a line, on standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe message that is written."""


class KebabTomlSource(TomlConfigSettingsSource):
    """A TOML file whose keys are written in kebab-case."""

    def _read_file(self, file_path: Any) -> dict[str, Any]:  # Any: as the parent has it
        # Sections and settings; tables below them are values, with keys such as names of headers.
        return {
            key: _snake_keys(value) if isinstance(value, dict) else value
            for key, value in _snake_keys(super()._read_file(file_path)).items()
        }


def _snake_keys(table: dict[str, Any]) -> dict[str, Any]:  # Any: whatever TOML holds
    return {key.replace("-", "_"): value for key, value in table.items()}


def default_data_dir() -> Path:
    """Return where cinder keeps its data unless told otherwise."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "cinder"


class Settings(BaseSettings):
    """Everything that can be configured."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        env_prefix="CINDER_",
        env_nested_delimiter="__",
    )

    data_dir: Annotated[Path, AfterValidator(Path.expanduser)] = Field(
        default_factory=default_data_dir
    )
    """Where cinder keeps its database, its token and everything else."""
    server: ServerSettings = Field(default_factory=ServerSettings)
    store: StoreSettings = Field(default_factory=StoreSettings)
    egress: EgressSettings = Field(default_factory=EgressSettings)
    scrape: ScrapeSettings = Field(default_factory=ScrapeSettings)
    browser: BrowserSettings = Field(default_factory=BrowserSettings)
    jobs: JobsSettings = Field(default_factory=JobsSettings)
    webhooks: WebhooksSettings = Field(default_factory=WebhooksSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    llm: LlmSettings = Field(default_factory=LlmSettings)
    extract: ExtractSettings = Field(default_factory=ExtractSettings)
    oauth: OauthSettings = Field(default_factory=OauthSettings)
    limits: LimitsSettings = Field(default_factory=LimitsSettings)
    log: LogSettings = Field(default_factory=LogSettings)

    @property
    def store_url(self) -> str:
        """The database to use."""
        return self.store.url or f"sqlite:///{self.data_dir / 'cinder.db'}"

    @property
    def browser_root(self) -> Path:
        """Where browsers keep their user data."""
        return self.browser.master_user_data_root or self.data_dir / "browser"

    @property
    def is_loopback(self) -> bool:
        """Whether the server listens on this machine alone."""
        if self.server.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.server.host).is_loopback
        except ValueError:
            return False

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the framework's signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the same
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: command line over environment over file."""
        return init_settings, env_settings, KebabTomlSource(settings_cls, _config_file())


def read_settings(**overrides: Any) -> Settings:  # Any: whatever the fields take
    """Read the settings; keyword arguments, by section, win over file and environment.

    Raises:
        SettingsError: they are not valid; the message names what is wrong.
    """
    try:
        return Settings(**overrides)
    except ValidationError as error:
        raise SettingsError(f"{_describe(error)}. See docs/settings.md.") from error
    except TOMLDecodeError as error:
        raise SettingsError(f"{_config_file()} is not valid TOML: {error}") from error


def environment() -> dict[str, str]:
    """Return the variables for the programs that cinder starts."""
    return dict(os.environ)


def unknown_variables() -> list[str]:
    """Return the variables that look like settings and belong to no section of them."""
    sections = tuple(f"CINDER_{name.upper()}" for name in Settings.model_fields)
    return [
        name
        for name in sorted(os.environ)
        if name.startswith("CINDER_")
        and name != CONFIG_VARIABLE
        and not any(name == section or name.startswith(f"{section}__") for section in sections)
    ]


def _config_file() -> Path:
    named = os.environ.get(CONFIG_VARIABLE)
    if named and not Path(named).exists():
        raise SettingsError(f"{CONFIG_VARIABLE} names {named}, which does not exist")
    return Path(named or "cinder.toml")


def _describe(error: ValidationError) -> str:
    problems = []
    for detail in error.errors(include_url=False):
        name = ".".join(str(part).replace("_", "-") for part in detail["loc"])
        is_unknown = detail["type"] == "extra_forbidden"
        problem = detail["msg"].removeprefix("Value error, ")
        problems.append(f"{name}: {'there is no such setting' if is_unknown else problem}")
    return f"The settings are not valid: {'; '.join(problems)}"
