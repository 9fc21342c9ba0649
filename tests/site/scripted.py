"""Pages that live by their scripts: for browsers to render, act on, and survive."""

_TEXT = " ".join(["Embers glow under the ash until morning."] * 12)

# Content that arrives by a request 300 ms after the page has loaded.
LATE = """<!doctype html><title>Late news</title><h1>News</h1><div id="content"></div>
<script>
addEventListener('load', () => setTimeout(async () => {
  const answer = await fetch('/late-data');
  const data = await answer.json();
  document.getElementById('content').innerHTML =
    data.items.map(item => `<h2>${item.title}</h2><p>${item.text}</p>`).join('');
}, new URLSearchParams(location.search).get('after') ?? 300));
</script>"""

LATE_DATA = {"items": [{"title": f"Story {n}", "text": _TEXT} for n in range(3)]}

FORM = """<!doctype html><title>Form</title>
<style>body { margin: 0 } #far { margin-top: 3000px } #hidden { display: none }
#cover { position: fixed; inset: 0; background: white; display: none }</style>
<form id="form" onsubmit="event.preventDefault(); log('submitted ' + this.name.value)">
  <input id="name" name="name" value="old"> <input id="date" type="date">
  <input id="locked" readonly value="fixed"> <textarea id="note"></textarea>
  <select id="wood"><option value="o">Oak</option><option value="b">Birch</option></select>
  <input id="box" type="checkbox"> <button id="send">Send</button>
</form>
<div id="editable" contenteditable>old text</div>
<button id="hidden">Hidden</button>
<button id="more" onclick="setTimeout(() => log('more came'), 100)">More</button>
<button id="later" onclick="setTimeout(() => { const b = document.createElement('button');
  b.id = 'late'; b.textContent = 'Late'; b.onclick = () => log('late clicked');
  document.body.append(b) }, 300)">Later</button>
<button id="veil" onclick="document.getElementById('cover').style.display = 'block'">Veil</button>
<a id="link" href="/article">To the article</a>
<a id="window" href="/article" target="_blank">In a new window</a>
<a id="file" href="/attachment">A file</a>
<ul id="log"></ul><div id="cover">cover</div>
<p id="far">Far below</p>
<script>
function log(text) {
  const line = document.createElement('li'); line.textContent = text;
  document.getElementById('log').append(line);
}
addEventListener('keydown', event => log('key ' + (event.ctrlKey ? 'ctrl+' : '') + event.key));
addEventListener('scroll', () => { window.scrolled = true });
for (const id of ['name', 'note', 'wood', 'date'])
  document.getElementById(id).addEventListener('input', event => log(id + '=' + event.target.value))
</script>"""

# A dialog that opens by itself, over a page with an inline part of that role.
WITH_NEWSLETTER = f"""<!doctype html><title>Ash</title><main><h1>Ash</h1>
<p>Cover the coals with ash. {_TEXT}</p>
<div role="dialog"><p>A part of the page that only has the role of a dialog.</p></div></main>
<div role="dialog" aria-modal="true" style="position: fixed; top: 20%; left: 20%; width: 60%">
<h2>Never miss a fire</h2><p>Get our letter every week.</p><input type="email"></div>"""

HOSTILE = {
    "endless": "<title>Endless</title><p>Before</p><script>while (true);</script>",
    "popups": "<title>Pop-ups</title><p>Page with pop-ups</p><script>"
    "for (let n = 0; n < 50; n++) window.open('/article?' + n, 'w' + n)</script>",
    "alerts": "<title>Alerts</title><p>Before</p><script>"
    "setTimeout(() => { while (true) alert('again') }, 10)</script>",
    "one-alert": "<title>Alert</title><p>Before</p><script>alert('once');"
    "document.write('<p>After the alert</p>')</script>",
    "huge-string": "<title>Huge</title><p>Before</p><script>"
    "document.body.append('x'.repeat(300 * 1024 * 1024))</script>",
    "buffers": "<title>Buffers</title><p>Before</p><script>const kept = [];"
    "for (let n = 0; n < 80; n++) { const b = new Uint8Array(100 * 1024 * 1024);"
    "b.fill(1); kept.push(b) }</script>",
    "reloads": "<title>Reloads</title><p>Before</p><script>"
    "setInterval(() => location.reload(), 50)</script>",
    "leaves-web": "<title>Leaves</title><p>Before</p><script>"
    "location.href = 'file:///etc/passwd'; location.href = 'chrome://crash'</script>"
    "<p>Still here, with some words to read on it.</p>",
    "slow-picture": "<title>Slow</title><p>Words around a picture that takes its time.</p>"
    "<script src='/silent'></script>",
    "login": "<title>Login</title><p>Welcome back</p><script>"
    "document.cookie = 'session=one';"
    "document.cookie = 'kept=two; max-age=86400'; fetch('/late-data')</script>",
    "tall": "<title>Tall</title><div style='height: 100000px; background: linear-gradient(red, "
    "blue)'>Tall</div>",
    "broken-globals": "<title>Broken</title><p>Readable all the same</p><script>"
    "JSON.stringify = Array.prototype.map = Element.prototype.querySelector = () => { throw 1 };"
    "document.querySelector = () => null; window.Promise = null; window.setTimeout = null</script>",
}

# Pages for actions to be done on.
ACTED_ON = {
    "banner": """<!doctype html><title>Banner</title><main id="main-content"><h1>Tides</h1>
<p id="text">Accept first.</p></main><div id="cookie-banner" style="position: fixed; bottom: 0;
left: 0; right: 0; z-index: 9999; background: white; padding: 30px">We use cookies to improve your
experience. <button id="cookie-accept">Accept all cookies</button></div><script>
document.getElementById('cookie-accept').onclick = () => {
  document.getElementById('cookie-banner').remove();
  document.getElementById('text').textContent = 'The sea comes and goes twice a day.';
}</script>""",
    "covered-by-banner": """<!doctype html><title>Covered</title><button id="buy"
onclick="document.title = 'bought'">Buy</button><div id="onetrust-consent-sdk"><div
id="onetrust-banner-sdk" style="position: fixed; inset: 0; z-index: 9999; background: white">
We use cookies. <button id="onetrust-accept-btn-handler" onclick="document.title = 'accepted'">
Accept all</button> <button id="onetrust-reject-all-handler">Reject all</button></div></div>""",
    "inner-box": """<!doctype html><title>Box</title><style>body { margin: 0; overflow: hidden }
#box { height: 100vh; overflow-y: auto }</style><div id="box"><div style="height: 5000px">Long
</div></div>""",
    "strict": """<!doctype html><title>Strict</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'"><p>Nothing runs here.""",
    "search": """<!doctype html><title>Search</title><form action="/numbered"><input id="query"
name="n"></form>""",
    "links": """<!doctype html><title>Links</title><p id="said">-</p>
<a id="hash" href="#below">Hash</a> <a id="mail" href="mailto:ada@site.test">Mail</a>
<a id="dead" href="http://127.0.0.1:1/">Dead</a> <a id="nothing" href="/bodiless?code=204">204</a>
<a id="dead-window" href="http://127.0.0.1:1/" target="_blank">Dead window</a>
<a id="file-window" href="/attachment" target="_blank">File window</a>
<a id="frame" href="/form" target="inside">Frame</a> <iframe name="inside"></iframe>
<button id="push" onclick="history.pushState({}, '', '/pushed')">Push</button>
<button id="back" onclick="location.hash = 'x'; setTimeout(() => history.back(), 1)">Back</button>
<button id="soon" onclick="setTimeout(() => location = '/form', 150)">Soon</button>
<button id="rewrite" onclick="document.open(); document.write('<p>Written anew</p>');
document.close()">Rewrite</button><p id="below" style="margin-top: 3000px">Below""",
    "asks-to-stay": """<!doctype html><title>Stay</title><a id="link" href="/article">Leave</a>
<script>addEventListener('beforeunload', event => { event.preventDefault(); return 'Stay?' })
</script>""",
}

# Pages that do not stay as they came.
MOVING = {
    "moves-on": "<title>Before</title><script>location.replace('/article')</script><p>Old page",
    "moves-on-loaded": "<title>Before</title><p>Old page</p><script>"
    "addEventListener('load', () => location.replace('/article'))</script>",
    "moves-on-later": "<title>Before</title><p>Old page</p><script>addEventListener('load', () =>"
    "setTimeout(() => location.replace('/silent'), 50))</script>",
    "refreshes": "<title>Before</title><meta http-equiv='refresh' content='0; url=/article'><p>Old",
    "rewrites": "<title>Before</title><p>Old page</p><script>addEventListener('load', () => {"
    "document.open(); document.write('<title>After</title><p>Written anew</p>');"
    "document.close() })</script>",
    "turns-blank": "<title>Before</title><script>location = 'about:blank'</script>",
    "pushes": "<title>Pushes</title><p>Here</p><script>"
    "history.pushState({}, '', '/pushed')</script>",
    "busy-frame": "<title>Main</title><p>Main page</p><iframe src='/reloads'></iframe>",
    "hangs": "<title>Hangs</title><p>What has come so far</p><script async src='/silent'></script>",
    "hanging-frame": "<title>Framed</title><p>Around the frame</p><iframe src='/silent'></iframe>",
    "grows": "<title>Grows</title><p id='text'></p><script>setInterval(() => {"
    "document.getElementById('text').append('word '.repeat(50)) }, 5)</script>",
    "ticks": "<title>Ticks</title><p id='ticks'>0</p><script>const start = performance.now();"
    "setInterval(() => { document.getElementById('ticks').textContent ="
    " Math.round(performance.now() - start) }, 5)</script>",
}

WHO_AM_I = """<!doctype html><title>Who</title><pre id="facts"></pre><script>
(async () => {
  const data = navigator.userAgentData;
  const facts = {
    userAgent: navigator.userAgent, platform: navigator.platform, webdriver: navigator.webdriver,
    languages: navigator.languages, plugins: navigator.plugins.length, mark: window.mark || null,
    locale: Intl.DateTimeFormat().resolvedOptions().locale, hasChrome: typeof window.chrome,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, touch: 'ontouchstart' in window,
    width: innerWidth, brands: data ? data.brands.map(b => b.brand) : null,
    full: data ? await data.getHighEntropyValues(['fullVersionList', 'platform']) : null,
  };
  document.getElementById('facts').textContent = JSON.stringify(facts);
})()
</script>"""

PICTURES = """<!doctype html><title>Pictures</title><style>body { margin: 0 }</style>
<img src="/picture.png"><div style="height: 2000px"></div><img src="/below.png" loading="lazy">"""

# Tells what earlier pages left, and leaves as much as it can.
MARKS = """<!doctype html><title>Marks</title><p id="found"></p><script>(async () => {
  const found = [document.cookie, localStorage.length, sessionStorage.length, window.name,
    history.length, (await indexedDB.databases()).length, (await caches.keys()).length];
  document.getElementById('found').textContent = 'Found: ' + JSON.stringify(found);
  document.cookie = 'mark=1; max-age=600';
  localStorage.mark = sessionStorage.mark = window.name = 'mark';
  history.pushState({}, '', '#mark');
  indexedDB.open('mark', 1);
  await (await caches.open('mark')).put('/mark', new Response('mark'));
  addEventListener('pagehide', () => {
    document.cookie = 'late=1; max-age=600';
    localStorage.late = sessionStorage.late = 1;
    fetch('/set-late-cookie', { keepalive: true });
  });
})()</script>"""

# What brings a page's text 300 ms after it has loaded, without a request.
_LATE_WAYS = {
    "timer": "setTimeout(show, 300)",
    "timer-in-words": "setTimeout(show, '300')",
    "timers": "setTimeout(() => setTimeout(() => setTimeout(show, 100), 100), 100)",
    "interval": "let count = 0; const id = setInterval(() => {"
    " if (++count == 6) { clearInterval(id); show() } }, 50)",
    "frames": "const start = performance.now(); const draw = () =>"
    " performance.now() - start > 300 ? show() : requestAnimationFrame(draw); draw()",
    "idle": "const start = performance.now(); const work = () =>"
    " performance.now() - start > 300 ? show() : requestIdleCallback(work); work()",
    "animation": "document.querySelector('h1').animate([{ opacity: 0 }, { opacity: 1 }], 300)"
    ".onfinish = show",
    "task": "scheduler.postTask(show, { delay: 300 })",
    "abort": "AbortSignal.timeout(300).onabort = show",
    "worker": "new Worker(URL.createObjectURL(new Blob(["
    "'setTimeout(() => postMessage(1), 300)']))).onmessage = show",
    "frame": "document.body.append(Object.assign(document.createElement('iframe'),"
    " { srcdoc: '<script>setTimeout(() => parent.show(), 300)</' + 'script>' }))",
}
LATE_BY = {
    f"late-by-{way}": f"""<!doctype html><title>Late</title><h1>News</h1><script>
function show() {{ document.body.insertAdjacentHTML('beforeend', '<p>Story') }}
addEventListener('load', () => {{ {script} }})</script>"""
    for way, script in _LATE_WAYS.items()
}

# Tells what a page can see of the functions that its timers are made with.
TIMERS = """<!doctype html><title>Timers</title><p id="found"></p><script>
const names = ['setTimeout', 'setInterval', 'clearTimeout', 'requestAnimationFrame', 'Worker'];
const found = names.map(name => [window[name].name, window[name].length,
  /native code/.test(Function.prototype.toString.call(window[name]))]);
class Own extends Worker {}
found.push(new Own('data:text/javascript,1') instanceof Own);
setTimeout((...values) => { document.getElementById('found').textContent =
  JSON.stringify([...found, values, typeof setTimeout(() => {}, { valueOf: () => 1e6 })]) },
  10, 'first', 'second');
</script>"""

# Keeps its process busy once it is left.
LINGERS = """<title>Lingers</title><p>Before</p>
<script>addEventListener('pagehide', () => { while (true); })</script>"""

SCRIPTED = {
    "marks": MARKS,
    "lingers": LINGERS,
    "late": LATE,
    "timers": TIMERS,
    **LATE_BY,
    "form": FORM,
    "who-am-i": WHO_AM_I,
    "pictures": PICTURES,
    "with-newsletter": WITH_NEWSLETTER,
    **ACTED_ON,
    **MOVING,
    **HOSTILE,
}
