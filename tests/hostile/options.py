"""Options of a request that are wrong, too much, or meant to slip something past."""

from typing import Any

from tests.hostile.case import OK, Case, Task, cases_of

_PAGE = "http://{site}/plain"

_HEADERS: tuple[dict[str, Any], ...] = (
    {"X-A": "b\r\nX-Slipped: in"},
    {"X-A": "b\nX-Slipped: in"},
    {"X-A": "b\rX-Slipped: in"},
    {"X-A": "b\u0000c"},
    {"X-A\r\nX-Slipped": "in"},
    {"X A": "1"},
    {"X:A": "1"},
    {"": "1"},
    {"X-\u00e9": "1"},
    {"X-A": "\u4e2d\u6587"},
    {"X-A": "\ud800"},
    {"Host": "169.254.169.254"},
    {"host": "{canary}"},
    {"Content-Length": "999"},
    {"Transfer-Encoding": "chunked"},
    {"Connection": "X-A"},
    {"Upgrade": "websocket"},
    {"TE": "trailers"},
    {"Expect": "100-continue"},
    {"Proxy-Authorization": "Basic eDp4"},
    {"Proxy-Connection": "keep-alive"},
    {"X-Forwarded-For": "127.0.0.1"},
    {"Metadata-Flavor": "Google"},
    {"Accept-Encoding": "x"},
    {"If-None-Match": "*"},
    {"Range": "bytes=0-1"},
    {"User-Agent": ""},
    {"Cookie": "a=b\r\nX-Slipped: in"},
    {"Cookie": "a=b; " * 5_000},
    {"X-A": "a" * 100_000},
    {f"X-{number}": "1" for number in range(300)},
    {"a" * 10_000: "1"},
)

# Strict models over MCP must send something where they want nothing.
_EMPTY: tuple[dict[str, Any], ...] = (
    {"headers": {"X-A": None}},
    {"timeout": 0},
    {"maxChars": 0},
    {"parsers": [{"type": "pdf", "maxPages": 0}]},
)

_WRONG: tuple[dict[str, Any], ...] = (
    {"headers": {"X-A": 1}},
    {"headers": ["X-A: 1"]},
    {"headers": "X-A: 1"},
    {"timeout": -1},
    {"timeout": 10**30},
    {"timeout": "soon"},
    {"timeout": True},
    {"timeout": 1.5},
    {"maxAge": -1},
    {"maxAge": 10**30},
    {"maxAge": "x"},
    {"maxChars": -5},
    {"startIndex": -1},
    {"waitFor": 10**9},
    {"waitFor": -1},
    {"formats": ["../../etc/passwd"]},
    {"formats": "markdown\u0000"},
    {"formats": {"a": 1}},
    {"formats": [["markdown"]]},
    {"formats": ["screenshot", "fullscreenshot"]},
    {"mode": "__proto__"},
    {"mode": None, "proxy": "constructor"},
    {"profile": "../../other"},
    {"parsers": [{"type": "exe"}]},
    {"parsers": [{"type": "pdf"}] * 1_000},
    {"includeTags": ["p"] * 2_000},
    {"includeTags": ["["]},
    {"includeTags": ["p:has("]},
    {"includeTags": [""]},
    {"excludeTags": [7]},
    {"__class__": "x"},
    {"constructor": {"prototype": {}}},
    {"url2": "http://{canary}/"},
    {"idempotencyKey": "\n"},
    {"idempotencyKey": "a" * 10_000},
    {"command": "drop"},
    {"url": _PAGE, "urls": [_PAGE]},
    {"urls": "x"},
    {"formats": [{"type": "json", "schema": {"$ref": "http://{canary}/"}}]},
    {"extract": {"schema": "x"}},
    {"extract": 7},
    {"section": "a" * 100_000},
    {"query": "a" * 100_000},
    {"query": ["a"]},
    {"mobile": "yes"},
    {"blockAds": 7},
    {"location": {"country": "\u0000"}},
    {"webhook": "http://{canary}/"},
    {"proxy": "http://{canary}/"},
    {"timeout": 1e308},
    {"waitFor": "1s"},
    {"headers": {"Cookie": ["a=b"]}},
    {"cookies": [{"name": "a", "value": "b\r\n"}]},
    {"resultHandling": "../../etc"},
)

# Strange, and within what is taken or cut to size.
_ODD: tuple[dict[str, Any], ...] = (
    {"formats": []},
    {"formats": ["markdown"] * 1_000},
    {"cleanScrape": "no"},
    {"maxChars": 10**30},
    {"startIndex": 10**30},
    {"startIndex": "1"},
)

# Selectors that are valid, and meant to take for ever.
_SELECTORS = (
    ":not(" * 50 + "p" + ")" * 50,
    ":is(" * 50 + "p" + ")" * 50,
    ", ".join(f"p:nth-child({n}n+1)" for n in range(1_000)),
    " ".join(["*"] * 2_000),
    " > ".join(["div"] * 2_000),
    " ~ ".join(["*"] * 500),
    "p" + "[a]" * 5_000,
    "*" * 10_000,
    "a" * 100_000,
    "p:nth-child(99999999999999999999n)",
    "p\\",
    "\u0000",
    "'",
    "//a",
    "xpath=//a",
    "javascript:alert(1)",
)

_ACTIONS: tuple[list[Any], ...] = (
    [{"type": "goto", "url": "file:///etc/passwd"}],
    [{"type": "__proto__"}],
    [{"type": "pdf"}],
    [{"type": None}],
    [{}],
    ["click"],
    [7],
    [{"type": "wait", "milliseconds": -1}],
    [{"type": "wait", "milliseconds": 10**9}],
    [{"type": "wait", "milliseconds": "1e3"}],
    [{"type": "wait", "milliseconds": 20_000}] * 4,
    [{"type": "wait", "milliseconds": 1}] * 1_000,
    [{"type": "click"}],
    [{"type": "click", "selector": "["}],
    [{"type": "click", "selector": "xpath=//a"}],
    [{"type": "write", "selector": "input"}],
    [{"type": "press", "key": "A" * 100_000}],
    [{"type": "press", "key": "Hyper+Nonsense"}],
    [{"type": "scroll", "direction": "sideways"}],
    [{"type": "scroll", "direction": "down", "amount": -1}],
    [{"type": "scroll", "direction": "down", "amount": 10**12}],
    [{"type": "screenshot", "name": "a" * 1_000}],
    [{"type": "screenshot", "path": "/etc/passwd"}],
    [{"type": "executeJavascript", "script": "1" * 200_000}],
    [{"type": "executeJavascript"}],
)

_PATTERNS = (
    "(a+)+$",
    "(.*)*x",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(x+x+)+y",
    "a{1000}{1000}{1000}",
    "(?=a)",
    "(?<=a)b",
    "(a)\\1",
    "(?P<n>a)(?P<n>b)",
    "(",
    "[",
    "*",
    "\\",
    "\u0000",
    "\\x{110000}",
    "(?i)" * 1_000 + "a",
    "a|" * 20_000,
    "(" * 5_000 + ")" * 5_000,
    "**/" * 500,
    "",
)

_IDS = ("' OR 1=1--", "../../etc/passwd", "%00", "\u0000", "a" * 200, "a" * 10_000, "\ud800", "")
_NO_JOB = ("BATCH_NOT_FOUND", "VALIDATION_ERROR")

# Whom a crawl is to tell; only REST has it.
_WEBHOOKS: tuple[Any, ...] = (
    {"url": "http://{canary}/"},
    {"url": "http://[::1]:{canary_port}/"},
    {"url": "http://2130706433:{canary_port}/"},
    {"url": "http://localhost:{canary_port}/"},
    {"url": "http://169.254.169.254/latest/"},
    {"url": "http://site.invalid:25/"},
    {"url": "http://user:secret@{canary}/"},
    {"url": "http://192.0.2.9\\@{canary}/"},
    {"url": "http://{site}/redirect/307/0"},
    {"url": "http://{site}/slow/drip"},
    {"url": "http://{site}/endless-body/letters"},
    {"url": "http://{site}/broken/garbage"},
    {"url": "http://{site}/too-large/gzip-bomb"},
    {"url": "file:///etc/passwd"},
    {"url": "gopher://{canary}/_x"},
    {"url": ""},
    {"url": None},
    {"url": ["http://{canary}/"]},
    {"url": "http://{site}/plain", "headers": {"X-A": "b\r\nX-Slipped: in"}},
    {"url": "http://{site}/plain", "headers": {"Host": "{canary}"}},
    {"url": "http://{site}/plain", "headers": {"Content-Length": "0"}},
    {"url": "http://{site}/plain", "secret": "short"},
    {"url": "http://{site}/plain", "secret": "s" * 100_000},
    {"url": "http://{site}/plain", "events": ["__proto__"]},
    {"url": "http://{site}/plain", "events": []},
    "http://{canary}/",
    7,
    [],
)

_CRAWLS: tuple[dict[str, Any], ...] = (
    {"maxPages": -1},
    {"maxPages": 0},
    {"maxPages": 10**12},
    {"maxPages": "x"},
    {"maxPages": 1.5},
    {"maxPages": True},
    {"maxDepth": 0},
    {"maxDepth": 10**9},
    {"delay": -1},
    {"delay": 10**12},
    {"scope": "internet"},
    {"includePatterns": {"a": 1}},
    {"includePatterns": [7]},
    {"includePatterns": ["a"] * 10_000},
    {"render": "maybe"},
    {"url": "file:///etc/passwd"},
    {"url": None},
)


# A body of so many values is refused before it is parsed, when its request has no id yet.
_TOO_MANY_VALUES = frozenset({"PROTOCOL_ERROR"})


def option_cases() -> list[Case]:
    """Return every request whose options are hostile."""
    wrong = "VALIDATION_ERROR"
    headers = [{"url": _PAGE, "headers": given} for given in _HEADERS]
    empty = [{"url": _PAGE, **given} for given in _EMPTY]
    selectors = [{"url": _PAGE, "includeTags": [each]} for each in _SELECTORS]
    actions = [{"url": _PAGE, "actions": each} for each in _ACTIONS]
    start = {"url": "http://{site}/plain", "maxDepth": 1, "maxPages": 1}
    patterns = [{**start, "includePatterns": [each]} for each in _PATTERNS]
    return [
        *cases_of("control", [{"url": _PAGE}, {"url": f"{_PAGE}?q=127.0.0.1#@{{canary}}"}], OK),
        *cases_of("control", [start], OK, task=Task.CRAWL),
        *cases_of("headers", headers, wrong, OK),
        *cases_of("wrong option", [{"url": _PAGE, **given} for given in _WRONG], wrong),
        *cases_of(
            "wrong option", [{"urls": [_PAGE] * 100_000}], wrong, codes_over_mcp=_TOO_MANY_VALUES
        ),
        *cases_of("empty option", empty, wrong, codes_over_mcp=frozenset({OK})),
        *cases_of("odd option", [{"url": _PAGE, **given} for given in _ODD], wrong, OK),
        *cases_of("selector", selectors, wrong, OK, "PARSE_LIMIT"),
        *cases_of("action", actions, wrong, "ACTION_FAILED"),
        *cases_of("job", [{"command": "status", "jobId": each} for each in _IDS], *_NO_JOB),
        *cases_of("pattern", patterns, wrong, OK, task=Task.CRAWL),
        *cases_of(
            "webhook",
            [{**start, "webhook": each} for each in _WEBHOOKS],
            *(wrong, OK, "EGRESS_BLOCKED"),
            task=Task.CRAWL,
        ),
        *cases_of(
            "webhook",
            [{**start, "webhook": {"url": "http://{site}/plain", "events": ["page"] * 100_000}}],
            wrong,
            task=Task.CRAWL,
            codes_over_mcp=_TOO_MANY_VALUES,
        ),
        *cases_of("crawl", [{**start, **given} for given in _CRAWLS], wrong, task=Task.CRAWL),
    ]
