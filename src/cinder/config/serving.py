"""Settings of the server, its limits and logs, the store, jobs and webhooks."""

from typing import Literal

from pydantic import Field, SecretStr

from cinder.config.section import (
    MEBIBYTE,
    CommaSeparated,
    OptionalSecret,
    OptionalText,
    SettingsSection,
)


class ServerSettings(SettingsSection):
    """The HTTP server."""

    host: str = "127.0.0.1"
    """Address to listen on. Beyond loopback, a configured api-token is required."""
    port: int = Field(8000, ge=0, le=65535)
    """Port to listen on; 0 for any free one."""
    workers: int = Field(1, ge=1, le=64)
    """Processes that serve requests and run jobs behind the one port. The limits in these settings
    apply to all of them together: each process gets an equal share, at least one."""
    api_token: OptionalSecret = None
    """The bearer token that callers must send. When absent, the first start generates one and saves
    it in the data directory."""
    auth: Literal["on", "off"] = "on"
    """Whether callers must send the token. `off` is allowed on loopback only."""
    allowed_hosts: CommaSeparated = ()
    """Host names, besides loopback, that requests may use: at /mcp, and everywhere while auth is
    off."""
    max_request_bytes: int = Field(4 * MEBIBYTE, ge=1024)
    """Largest request body accepted."""
    max_connections: int = Field(1000, ge=10)
    """Connections with a running authenticated request; beyond them, requests get 503. As many
    again may be open without one: a new one closes the oldest."""
    max_connections_per_address: int = Field(500, ge=1)
    """Connections with a running authenticated request or stream from one address, or one /64
    network of IPv6; beyond them, requests get 503."""
    max_unauthenticated_connections_per_address: int = Field(250, ge=1)
    """Connections from one address that have not presented a token; a new one closes the oldest.
    Those of trusted-proxies are not counted."""
    max_lag_seconds: float = Field(0.01, gt=0)
    """How far the event loop may lag with four times spared-requests running; the more are running,
    the less. Beyond it, requests are refused as OVERLOADED unread. /healthz is always answered."""
    spared_requests: int = Field(32, ge=0)
    """Running requests up to which none is refused because of the event loop's lag."""
    nice: int = Field(-5, ge=-20, le=19)
    """Nice value of the server's process. Values below 0 need permission, such as root's. Parsers
    run at 0, browsers at 5."""
    max_streams_per_caller: int = Field(32, ge=1)
    """Streams of events that one caller may have open; further ones are refused as RATE_LIMITED."""
    max_head_bytes: int = Field(64 * 1024, ge=8 * 1024)
    """Largest head of a request; larger ones get 431."""
    head_timeout_seconds: float = Field(30, gt=0)
    """How long a request's head may take to arrive; for the first one, from when the connection
    opens."""
    max_pipelined_requests: int = Field(32, ge=1)
    """Requests that a client may send before the responses to earlier ones; beyond them, the
    connection is closed."""
    keep_alive_seconds: float = Field(5, gt=0)
    """How long a connection may stay open between two requests."""
    body_timeout_seconds: float = Field(60, gt=0)
    """How long a request's body may take to arrive."""
    discard_seconds: float = Field(10, gt=0)
    """How long the rest of a body is read and discarded after an early response, so that clients
    that send the whole body first get the response."""
    max_discarded_bytes: int = Field(64 * MEBIBYTE, ge=0)
    """How much of such a body is discarded before the connection is closed."""
    result_max_chars: int = Field(100_000, ge=100)
    """Characters of each text format in a REST response, unless the request sets another limit."""
    mcp_result_max_chars: int = Field(20_000, ge=100)
    """Characters of text in an MCP result, unless the request sets another limit."""
    mcp_image_max_edge_pixels: int = Field(1568, ge=64, le=8000)
    """Longest edge of a screenshot in an MCP result; larger ones are scaled down."""
    mcp_call_seconds: int = Field(50, ge=1, le=50)
    """How long a page may take within an MCP call: clients time out after about 60 seconds. Tools
    that can continue in the background do so after this time."""
    mcp_max_sessions_per_caller: int = Field(100, ge=1)
    """Sessions that one caller may have at /mcp; a further one ends the longest idle one, or is
    refused as RATE_LIMITED if none is idle."""
    mcp_toolsets: CommaSeparated = ()
    """Groups of tools to offer over MCP, such as `core,extract`. When absent, all tools."""
    mcp_tools: CommaSeparated = ()
    """Single tools to offer over MCP, besides those of mcp-toolsets."""
    mcp_read_only: bool = False
    """Whether MCP clients can only read pages: no clicks, no typing, no scripts."""
    result_max_chars_ceiling: int = Field(1_000_000, ge=100)
    """The largest maxChars of a request."""
    answer_memory_bytes: int = Field(32 * MEBIBYTE, ge=0)
    """Memory of the cache of POST /api/v2/scrape responses, in each process; 0 for none."""
    rate_limit: str = "1200/minute"
    """Requests that each token may send, except the owner's. Empty for no limit."""
    address_rate_limit: str = "6000/minute"
    """Requests from one address, or one /64 network of IPv6, except this machine."""
    failed_login_limit: str = "30/minute"
    """Requests with a wrong token from one address; beyond it, valid tokens are refused too, except
    from this machine."""
    trusted_proxies: CommaSeparated = ()
    """Addresses or networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto
    count."""
    shutdown_seconds: int = Field(10, ge=0)
    """How long running requests may take to finish when the server stops."""


class OauthSettings(SettingsSection):
    """Tokens of an authorization server, which give access to /mcp like cinder's own."""

    issuer: OptionalText = None
    """The authorization server, as named in its tokens. Without one, OAuth is off."""
    resource: str | None = None
    """The URL at which clients reach /mcp, which tokens must have as their audience."""
    scope_prefix: str = ""
    """The issuer's prefix of `read`, `scrape` and `crawl`, such as `cinder:`."""


class LimitsSettings(SettingsSection):
    """The limits of one request; see also `server.max-request-bytes`."""

    json_depth: int = Field(64, ge=4, le=150)
    """Levels of objects and lists within each other."""
    list_items: int = Field(10_000, ge=1)
    """Entries of any list but the URLs of a batch."""
    object_keys: int = Field(10_000, ge=100)
    """Members of any object in it."""
    json_values: int = Field(50_000, ge=1_000)
    """Values in a request's body in all, lists and objects included; counted while it arrives."""
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
    """Headers of a request to a page."""
    header_bytes: int = Field(16_384, ge=1, le=16_384)
    """Size of one header's value."""
    schema_properties: int = Field(500, ge=1, le=500)
    """Properties in the schema of an extraction, those of objects within it included."""
    claims: int = Field(1_000, ge=0, le=1_000)
    """Values to verify in one extraction."""


class LogSettings(SettingsSection):
    """Logs: one JSON object a line, on standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The lowest level of messages that are written."""


class StoreSettings(SettingsSection):
    """The database, and how long saved pages are kept."""

    url: str | None = None
    """Database: `sqlite:///path` or `postgresql://…`. When absent, cinder.db in the data
    directory."""
    retention_hours: float = Field(30 * 24, gt=0)
    """How long a saved version stays readable."""
    expiry_interval_seconds: float = Field(300, gt=0)
    """How often expired data is deleted."""
    max_bytes: int = Field(50 * 1024 * MEBIBYTE, ge=16 * MEBIBYTE)
    """Largest size of SQLite's database file; beyond it, saving fails with STORAGE_FULL."""
    pool_size: int = Field(8, ge=1)
    """Database connections for reading at once."""
    memory_bytes: int = Field(64 * MEBIBYTE, ge=0)
    """Memory of the cache of recently read documents, in each process; 0 for none."""
    busy_timeout_seconds: float = Field(3, gt=0, le=60)
    """How long SQLite waits for another process that locks its file. Requests then get 503, and get
    it quickly while the lock lasts."""


class JobsSettings(SettingsSection):
    """Jobs: batches and crawls in the background."""

    enabled_in_server: bool = True
    """Whether servers run jobs themselves; on PostgreSQL, `cinder worker` processes can."""
    slots: int = Field(4, ge=1)
    """Jobs that one process runs at once, shared equally between the callers that have any."""
    concurrency: int = Field(8, ge=1)
    """Pages of one job that one process fetches at once."""
    workers_per_job: int = Field(4, ge=1)
    """Processes that run one job at once, if there are so many."""
    host_concurrency: int = Field(4, ge=1)
    """Pages of one host that all processes together fetch at once."""
    host_delay_ms: int = Field(0, ge=0)
    """The least time between two requests to one host; a site's crawl-delay may make it longer."""
    lease_seconds: float = Field(30, gt=0, le=600)
    """How long a process holds the lease of a page that it fetches, unless it renews the lease."""
    crash_tries: int = Field(3, ge=1)
    """How often a page is retried alone after a process crashed while fetching it; then it has
    failed."""
    slice_seconds: float = Field(10, gt=0)
    """How long a process runs one job before it checks whether another waits."""
    page_timeout_ms: int = Field(60_000, ge=1000)
    """How long one page of a crawl may take."""
    extract_workers: int = Field(2, ge=1)
    """Processes that parse the pages of jobs, separate from those for single scrapes."""
    retention_hours: float = Field(24, gt=0)
    """How long the pages of a job can be listed; saved pages are kept for longer."""
    max_open: int = Field(1_000, ge=1)
    """Unfinished jobs; further ones are refused as OVERLOADED."""
    max_open_per_caller: int = Field(200, ge=1)
    """Unfinished jobs of one caller; further ones are refused as RATE_LIMITED."""
    max_batch_urls: int = Field(10_000, ge=1)
    """URLs that one batch may have."""
    max_pages: int = Field(100_000, ge=1)
    """Pages that one crawl may have."""
    max_bytes: int = Field(10 * 1024 * MEBIBYTE, ge=1024)
    """Bytes of all pages of one job together, decompressed; the job ends when it exceeds them."""


class MapSettings(SettingsSection):
    """Maps: what listing the URLs of one site may cost it."""

    max_sitemaps: int = Field(500, ge=1)
    """Sitemaps and feeds of a site that one map reads."""
    max_bytes: int = Field(256 * 1024 * 1024, ge=1)
    """Bytes of all sitemaps and feeds of one map together; no further one is fetched beyond."""


class WebhooksSettings(SettingsSection):
    """Webhook events about jobs."""

    secret: SecretStr = SecretStr("")
    """The secret that signs events when a request has none; without it, each job gets its own."""
    concurrency: int = Field(8, ge=1)
    """Events that one process delivers at once."""
    timeout_seconds: float = Field(10, gt=0, lt=60)
    """How long a receiver may take to respond."""
