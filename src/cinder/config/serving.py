"""Settings of the server: who may ask, for how much, and what is logged."""

from typing import Literal

from pydantic import Field

from cinder.config.section import MEBIBYTE, CommaSeparated, OptionalSecret, OptionalText, Section


class ServerSettings(Section):
    """The HTTP server."""

    host: str = "127.0.0.1"
    """Address to listen on. Beyond loopback, a configured api-token is required."""
    port: int = Field(8000, ge=0, le=65535)
    """Port to listen on; 0 takes any free one."""
    workers: int = Field(1, ge=1, le=64)
    """Processes that serve requests and work on jobs behind the one port. The limits of these
    settings hold for all of them together: each process gets an equal part, at least one."""
    api_token: OptionalSecret = None
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
    """Connections with an authenticated request under way; beyond them, requests are answered 503.
    As many again may be open without one: a new one closes the oldest."""
    max_connections_per_address: int = Field(500, ge=1)
    """Connections with an authenticated request or stream under way from one address, of IPv6 from
    one network of 64 bits; beyond them, requests are answered 503."""
    max_unauthenticated_connections_per_address: int = Field(250, ge=1)
    """Connections from one address that have not presented a token; a new one closes the oldest.
    Those of trusted-proxies are not counted."""
    max_lag_seconds: float = Field(0.01, gt=0)
    """How far the event loop may be behind with four times spared-requests under way; the more are
    under way, the less. Beyond it, requests are refused as OVERLOADED unread. /healthz is always
    answered."""
    spared_requests: int = Field(32, ge=0)
    """Requests that may be under way without any being refused for that."""
    nice: int = Field(-5, ge=-20, le=19)
    """Priority of the server's process: the lower, the sooner it runs. Below 0 it takes effect only
    where the system allows it, such as for root. Parsers run at 0, browsers at 5."""
    max_streams_per_caller: int = Field(32, ge=1)
    """Streams of events that one caller may have open; further ones are refused as RATE_LIMITED."""
    max_head_bytes: int = Field(64 * 1024, ge=8 * 1024)
    """Largest head of a request; beyond it, the answer is 431."""
    head_timeout_seconds: float = Field(30, gt=0)
    """How long a request's head may take to arrive, the first one from the moment when the
    connection opens."""
    max_pipelined_requests: int = Field(32, ge=1)
    """Requests that a client may send before the answers to earlier ones; beyond them, the
    connection is closed."""
    keep_alive_seconds: float = Field(5, gt=0)
    """How long a connection may stay open between two requests."""
    body_timeout_seconds: float = Field(60, gt=0)
    """How long a request's body may take to arrive."""
    discard_seconds: float = Field(10, gt=0)
    """How long the rest of a body is read and discarded where the answer is known before its end,
    so that clients which send all of it first get the answer."""
    max_discarded_bytes: int = Field(64 * MEBIBYTE, ge=0)
    """How much of such a body is discarded before the connection is closed."""
    result_max_chars: int = Field(100_000, ge=100)
    """Characters of each text format in a REST answer, unless the request says otherwise."""
    mcp_result_max_chars: int = Field(20_000, ge=100)
    """Characters of text in an MCP answer, unless the request says otherwise."""
    mcp_image_max_edge_pixels: int = Field(1568, ge=64, le=8000)
    """Longest edge of a screenshot in an MCP answer; a larger one is scaled down to it."""
    mcp_call_seconds: int = Field(50, ge=1, le=50)
    """How long a page may take within an MCP call, as clients give up after about 60 seconds. What
    takes longer goes on in the background, where it may."""
    mcp_max_sessions_per_caller: int = Field(100, ge=1)
    """Sessions that one caller may have at /mcp; beyond them, the longest idle one ends, and a
    further one is refused as RATE_LIMITED where none is idle."""
    mcp_toolsets: CommaSeparated = ()
    """Groups of tools to offer over MCP, such as `default,extract` or `all`. When absent, the
    default group is listed, and the others can still be called."""
    mcp_tools: CommaSeparated = ()
    """Single tools to offer over MCP, beside those of mcp-toolsets."""
    mcp_read_only: bool = False
    """Whether MCP clients can do nothing on a page but read: no clicks, no typing, no scripts."""
    result_max_chars_ceiling: int = Field(1_000_000, ge=100)
    """The most that a request may ask for with maxChars."""
    answer_memory_bytes: int = Field(32 * MEBIBYTE, ge=0)
    """Memory for answers of POST /api/v2/scrape that are asked for again, in each process; 0 for
    none."""
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


class OauthSettings(Section):
    """Tokens of an authorization server, which open /mcp beside cinder's own."""

    issuer: OptionalText = None
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
