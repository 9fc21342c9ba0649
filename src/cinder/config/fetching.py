"""Settings of what goes out for pages: the door, the fetching itself, and the browsers."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr

from cinder.config.section import (
    MEBIBYTE,
    CommaSeparated,
    CommaSeparatedArguments,
    CommaSeparatedPaths,
    CommaSeparatedUserAgents,
    OptionalText,
    Section,
)


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
    max_queued: int = Field(16, ge=0)
    """Pages that may wait for their turn where no more can be under way, for up to a third of their
    timeout; further ones are refused as OVERLOADED."""
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
    """How long a page waits for a free browser before it is refused as OVERLOADED; at most a third
    of its timeout, except in jobs."""
    queue_max_waiting: int = Field(16, ge=0)
    """Pages, those of jobs not counted, that may wait for a free browser; further ones are refused
    as OVERLOADED at once."""
    max_starting: int = Field(2, ge=1)
    """Browsers that start at the same time."""
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
    master_login_args: CommaSeparatedArguments = ()
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
    launch_args: CommaSeparatedArguments = ()
    """Further arguments for every browser that renders."""
    ignore_default_args: CommaSeparatedArguments = ()
    """Arguments that cinder gives by default and that are to be left out."""
    ignore_all_default_args: bool = False
    """Leave out all of those; what keeps browsers behind the egress proxy stays."""
    user_agent: OptionalText = None
    """The user agent to show. When absent, that of the installed browser, without `Headless`."""
    user_agents: CommaSeparatedUserAgents = ()
    """Further user agents; each page gets one of all by chance."""
    accept_language: str = "en-US,en"
    """The languages asked for, and told to scripts."""
    locale: str = "en-US"
    """How dates and numbers are written."""
    timezone_id: OptionalText = None
    """The time zone shown, such as `Europe/Berlin`. When absent, the machine's."""
    extra_headers: dict[str, str] = Field(default_factory=dict)
    """Headers sent with every request of every page."""
    proxy_server: OptionalText = None
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
    filter_lists: CommaSeparatedPaths = ()
    """Further lists of ads and trackers to block, as files in EasyList's format."""
    screenshot_max_height: int = Field(16_384, ge=100, le=32_768)
    """Pixels at which a full-page screenshot ends."""
