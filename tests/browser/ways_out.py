"""Every way that a page's script has to make a browser send something somewhere.

Each is a piece of script; `url` is where it tries to get to and `at` the same as `host:port`.
"""

import json

from tests.browser.egress_site import Answer, Canaries, Page

_SCRIPTS = {
    "fetch": "fetch(url)",
    "fetch-post": "fetch(url, { method: 'POST', mode: 'no-cors', body: 'x' })",
    "fetch-https": "fetch('https://' + at)",
    "fetch-loopback-space": "fetch(url, { mode: 'no-cors', targetAddressSpace: 'loopback' })",
    "fetch-keepalive": "fetch(url, { mode: 'no-cors', keepalive: true, method: 'POST' })",
    "fetch-redirected": "fetch('/to?' + url, { mode: 'no-cors' })",
    "xhr": "const x = new XMLHttpRequest(); x.open('GET', url); x.send()",
    "websocket": "new WebSocket('ws://' + at)",
    "websocket-tls": "new WebSocket('wss://' + at)",
    "event-source": "new EventSource(url)",
    "beacon": "navigator.sendBeacon(url, 'x')",
    "web-transport": "new WebTransport('https://' + at)",
}
_LINKS = {
    "stylesheet": {"rel": "stylesheet"},
    "favicon": {"rel": "icon"},
    "prefetch": {"rel": "prefetch"},
    "preload": {"rel": "preload", "as": "script"},
    "module-preload": {"rel": "modulepreload"},
    "preconnect": {"rel": "preconnect"},
    "dns-prefetch": {"rel": "dns-prefetch"},
    "manifest": {"rel": "manifest"},
    "prerender-link": {"rel": "prerender"},
}
_ELEMENTS = {
    "image": ("img", "src"),
    "image-set": ("img", "srcset"),
    "input-image": ("input", "src"),
    "script": ("script", "src"),
    "video": ("video", "src"),
    "poster": ("video", "poster"),
    "audio": ("audio", "src"),
    "embed": ("embed", "src"),
    "object": ("object", "data"),
    "iframe": ("iframe", "src"),
}
_MARKUP = {
    "css-import": "<style>@import url(@URL@);</style>",
    "css-background": "<div style='background: url(@URL@); height: 9px'>b</div>",
    "css-font": "<style>@font-face { font-family: F; src: url(@URL@) } p { font-family: F }</style>"
    "<p>A</p>",
    "svg-image": "<svg><image href='@URL@' width=9 height=9 /></svg>",
    "body-background": "<table background='@URL@'><tr><td>b</table>",
    "srcdoc-iframe": "<iframe srcdoc='<img src=@URL@>'></iframe>",
    "nested-iframe": "<iframe src='/frame-of-frame?@URL@'></iframe>",
    "sandboxed-iframe": "<iframe sandbox src='@URL@'></iframe>",
    "scripted-sandbox": "<iframe sandbox=allow-scripts srcdoc='<script>fetch(`@URL@`)</script>'>"
    "</iframe>",
    "redirected-iframe": "<iframe src='/to?@URL@'></iframe>",
    "redirected-image": "<img src='/to?@URL@'>",
    "refreshed-iframe": '<iframe srcdoc="<meta http-equiv=refresh content=0;url=@URL@>"></iframe>',
    "located-iframe": "<iframe srcdoc='<script>location = `@URL@`</script>'></iframe>",
    "data-iframe": "<iframe src='data:text/html,<script>fetch(`@URL@`)</script>'></iframe>",
    "form-in-iframe": "<form id=f action='@URL@' target=form-frame></form><iframe name=form-frame>"
    "</iframe>",
    "embed-pdf": "<embed type=application/pdf src='@URL@/a.pdf'>",
    "prefetch-rules": '<script type=speculationrules>{"prefetch": [{"source": "list", "eagerness":'
    ' "immediate", "urls": ["@URL@"]}]}</script>',
    "prerender-rules": '<script type=speculationrules>{"prerender": [{"source": "list",'
    ' "eagerness": "immediate", "urls": ["/to?@URL@"]}]}</script>',
    "view-source-iframe": "<iframe src='view-source:@URL@'></iframe>",
    "ping": "<a id=pinged href='#here' ping='@URL@'>ping</a>",
}
_OBJECTS = {
    "worker": "new Worker(script(`fetch('@URL@').catch(() => {})`))",
    "worker-import": "new Worker(script(`importScripts('@URL@')`))",
    "worker-websocket": "new Worker(script(`new WebSocket('ws://' + '@AT@')`))",
    "worker-of-worker": "new Worker(script(`new Worker(URL.createObjectURL(new Blob(["
    "\"fetch('\" + '@URL@' + \"')\"])))`))",
    "shared-worker": "new SharedWorker(script(`fetch('@URL@').catch(() => {})`))",
    "audio-worklet": "new OfflineAudioContext(1, 1, 44100).audioWorklet.addModule(url)",
    "paint-worklet": "CSS.paintWorklet.addModule(url)",
    "module-import": "import(url)",
    "service-worker": "navigator.serviceWorker.register('/service-worker.js?' + url)",
    "blob-iframe": "const f = document.createElement('iframe'); f.src = URL.createObjectURL("
    "new Blob([`<script>fetch('@URL@')<\\/script>`], { type: 'text/html' }));"
    "document.body.append(f)",
    "font-face": "new FontFace('G', `url(${url})`).load()",
    "turn-tcp": "peer({ urls: 'turn:@AT@?transport=tcp', username: 'u', credential: 'c' })",
    "turn-tls": "peer({ urls: 'turns:@AT@?transport=tcp', username: 'u', credential: 'c' })",
    "stun": "peer({ urls: 'stun:127.0.0.1:@UDP@' }); peer({ urls: 'turn:127.0.0.1:@UDP@',"
    "username: 'u', credential: 'c' }); peer({ urls: 'stun:private.test:@UDP@' });"
    "call('127.0.0.1', @UDP@); call('canary.local', @UDP@)",
    "tcp-candidate": "call('127.0.0.1', @PORT@, 'tcp')",
    "window-open": "window.open(url)",
    "fetch-later": "fetchLater(url, { activateAfter: 0 })",
    "websocket-stream": "new WebSocketStream('ws://' + at)",
    "payment-manifest": "new PaymentRequest([{ supportedMethods: url + 'pay' }], { total: {"
    "label: 'x', amount: { currency: 'EUR', value: '1' } } }).canMakePayment()",
    "identity": "navigator.credentials.get({ identity: { providers: [{ configURL: url + 'c.json',"
    "clientId: 'x' }] } })",
    "background-fetch": "navigator.serviceWorker.ready.then("
    "ready => ready.backgroundFetch.fetch('x', url))",
    "ad-auction": "navigator.runAdAuction({ seller: 'https://@AT@',"
    "decisionLogicURL: 'https://@AT@/x.js' })",
    "fetch-topics": "fetch(url, { browsingTopics: true, mode: 'no-cors' })",
}
# As a browser spells them all the same, they must be told apart by their ports.
_ADDRESSES = {
    "localhost": "localhost",
    "dotted-localhost": "localhost.",
    "sub-localhost": "a.localhost",
    "any-v4": "0.0.0.0",
    "decimal": "2130706433",
    "hexadecimal": "0x7f000001",
    "octal": "0177.0.0.1",
    "short": "127.1",
    "dotted": "127.0.0.1.",
    "v6": "[::1]",
    "any-v6": "[::]",
    "mapped-v6": "[::ffff:127.0.0.1]",
    "compatible-v6": "[::127.0.0.1]",
    "full-width": "\uff11\uff12\uff17.0.0.1",
    "private-name": "private.test",
    "mixed-name": "mixed.test",
}
_REPORTS = ("csp-report", "endpoint-report", "network-error-log", "link-header")

WAYS = frozenset((*_SCRIPTS, *_LINKS, *_ELEMENTS, *_MARKUP, *_OBJECTS, *_ADDRESSES, *_REPORTS))

# What Chromium as it is started here does not even try. The names of loopback are among it
# because it judges those itself; by address it asks the proxy.
NEVER_TRIED = frozenset(
    (
        "ad-auction",
        "background-fetch",
        "dns-prefetch",
        "dotted-localhost",
        "embed-pdf",
        "endpoint-report",
        "favicon",
        "fetch-loopback-space",
        "localhost",
        "manifest",
        "network-error-log",
        "payment-manifest",
        "ping",
        "preconnect",
        "prerender-link",
        "service-worker",
        "stun",
        "sub-localhost",
        "view-source-iframe",
        "web-transport",
        "window-open",
    )
)

_PAGE = """<!doctype html><title>Hostile</title><p>Ways out</p><script>
window.outcomes = {};
window.candidates = [];
const script = text => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
function peer(server) {
  const connection = new RTCPeerConnection({ iceServers: [server] });
  connection.createDataChannel('x');
  connection.onicecandidate = event => event.candidate?.candidate
    && candidates.push(event.candidate.candidate);
  connection.createOffer().then(offer => connection.setLocalDescription(offer));
  return connection;
}
async function call(host, port, transport = 'udp') {
  const here = peer({ urls: `stun:${host}:${port}` }), there = new RTCPeerConnection();
  await new Promise(done => { here.onnegotiationneeded = done; setTimeout(done, 100) });
  await here.setLocalDescription();
  await there.setRemoteDescription(here.localDescription);
  await there.setLocalDescription(await there.createAnswer());
  await here.setRemoteDescription(there.localDescription);
  const kind = transport === 'tcp' ? ' tcptype passive' : '';
  await here.addIceCandidate({ sdpMid: '0', candidate:
    `candidate:1 1 ${transport} 2122260223 ${host} ${port} typ host${kind}` });
}
function element(tag, attributes) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  document.body.append(made);
}
function markup(html) {
  document.body.append(document.createRange().createContextualFragment(html));
}
async function attempt(name, way) {
  try {
    await way();
    outcomes[name] = 'done';
  } catch (error) { outcomes[name] = String(error); }
}
WAYS
document.getElementById('f').submit();
document.getElementById('pinged').click();
const blocked = new Image(); blocked.src = '/against-policy';
</script>"""


def pages_of(canaries: Canaries) -> dict[str, Answer]:
    """The pages of a website that tries them all: `/`, and those that it needs for that."""
    ports = canaries.ports
    scripts = [
        _attempt(name, f"127.0.0.1:{ports[name]}", script, canaries.udp_port)
        for name, script in _as_scripts().items()
    ] + [
        _attempt(name, f"{host}:{ports[name]}", "fetch(url, { mode: 'no-cors' })", 0)
        for name, host in _ADDRESSES.items()
    ]
    return {
        "/": Page(_PAGE.replace("WAYS", "\n".join(scripts)), headers=_report_headers(ports)),
        "/to": lambda url: Page(status=302, headers=(("Location", url),)),
        "/frame-of-frame": lambda url: Page(f"<iframe src='/to?{url}'></iframe>"),
        "/service-worker.js": lambda url: Page(f"fetch('{url}')", type="text/javascript"),
    }


def _as_scripts() -> dict[str, str]:
    links = {name: ("link", attributes, "href") for name, attributes in _LINKS.items()}
    elements: dict[str, tuple[str, dict[str, str], str]] = {
        name: (tag, {"type": "image"} if tag == "input" else {}, attribute)
        for name, (tag, attribute) in _ELEMENTS.items()
    }
    return {
        **_SCRIPTS,
        **_OBJECTS,
        **{
            name: f"element('{tag}', {{ ...{json.dumps(attributes)}, '{attribute}': url }})"
            for name, (tag, attributes, attribute) in (links | elements).items()
        },
        **{
            name: "markup({})".format(json.dumps(html).replace("</", "<\\/"))
            for name, html in _MARKUP.items()
        },
    }


def _attempt(name: str, at: str, script: str, udp_port: int) -> str:
    url = f"http://{at}/"
    places = {"URL": url, "AT": at, "UDP": str(udp_port), "PORT": at.rpartition(":")[2]}
    for name_of_place, value in places.items():
        script = script.replace(f"@{name_of_place}@", value)
    return (
        f"attempt('{name}', () => {{ const url = '{url}', at = '{at}';"
        f" {'return ' if ';' not in script else ''}{script} }});"
    )


def _report_headers(ports: dict[str, int]) -> tuple[tuple[str, str], ...]:
    def url(name: str) -> str:
        return f"http://127.0.0.1:{ports[name]}/"

    group = {"max_age": 600, "group": "nel", "endpoints": [{"url": url("network-error-log")}]}
    return (
        ("Content-Security-Policy-Report-Only", f"img-src data:; report-uri {url('csp-report')}"),
        ("Reporting-Endpoints", f'default="{url("endpoint-report")}"'),
        ("Report-To", json.dumps(group)),
        ("NEL", json.dumps({"report_to": "nel", "max_age": 600, "success_fraction": 1.0})),
        ("Link", f"<{url('link-header')}>; rel=preload; as=script"),
    )
