"""What the website answers to each request, as a plain function of what is asked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from tests.crawled_site import markup
from tests.crawled_site.corners import FARTHER
from tests.crawled_site.crawl_files import robots_txt, sitemaps
from tests.crawled_site.manifest import SITE, Fate
from tests.crawled_site.outline import BUSY, SLOW, STUMBLES
from tests.crawled_site.traps import trap_of

RETRY_AFTER_SECONDS = 1
SLOW_SECONDS = 2.0
_SESSION = re.compile(r";jsessionid=\w+")
_IGNORED_PARAMETERS = ("utm_", "gclid", "fbclid", "msclkid", "sid")
_HTML = "text/html; charset=utf-8"
_FILE_TYPES = {
    "zip": "application/zip",
    "png": "image/png",
    "mp4": "video/mp4",
    "iso": "application/octet-stream",
    "css": "text/css",
}
_ODDITIES = {odd.href: odd for odd in SITE.oddities}
_INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: without a status the connection is closed in silence."""

    status: int
    body: bytes = b""
    content_type: str = _HTML
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_seconds: float = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: the path with its query, the host as it was called, and the earlier times."""

    target: str
    host: str
    earlier: int = 0
    crawl_delay: float | None = None


def answer(asked: Asked) -> Answer:
    """Return what the website answers."""
    for find in (_for_crawlers, _odd, _trapped, _copy, _page):
        if found := find(asked):
            return found
    return Answer(404, b"<h1>There is no such page</h1>")


def _for_crawlers(asked: Asked) -> Answer | None:
    base = f"http://{asked.host}"
    if asked.target == "/robots.txt":
        return Answer(200, robots_txt(base, asked.crawl_delay), "text/plain")
    if not asked.target.startswith("/sitemaps/"):
        return None
    body = sitemaps(base).get(asked.target)
    kind = "application/gzip" if asked.target.endswith(".gz") else "application/xml"
    return Answer(200, body, kind) if body is not None else None


def _odd(asked: Asked) -> Answer | None:
    if asked.target.startswith(FARTHER):
        following = int(asked.target.removeprefix(FARTHER)) + 1
        return Answer(302, headers={"Location": f"{FARTHER}{following}"})
    odd = _ODDITIES.get(asked.target)
    if odd is None:
        return None
    if odd.location:
        return Answer(odd.status, headers={"Location": odd.location})
    if odd.fate is Fate.FAILED:
        return Answer(odd.status, b"<h1>This did not work</h1>")
    if odd.fate is Fate.DISALLOWED:
        return Answer(200, markup.secret(asked.target))
    if odd.fate is Fate.FILE:
        ending = asked.target.rpartition(".")[2]
        return Answer(200, bytes(range(256)) * 64, _FILE_TYPES[ending])
    return None


def _trapped(asked: Asked) -> Answer | None:
    first = trap_of(asked.target)
    return Answer(200, markup.page(first, within=asked.target)) if first else None


def _copy(asked: Asked) -> Answer | None:
    kind, _, rest = asked.target.removeprefix("/").partition("/")
    original = f"/{rest}"
    if kind == "print" and original in SITE.pages:
        return Answer(200, markup.print_version(original))
    if kind in ("mirror", "near") and original in SITE.pages:
        return Answer(200, markup.page(original, near=kind == "near"))
    if asked.target.endswith(f"/{_INDEX}"):
        original = asked.target.removesuffix(_INDEX)
        if original in SITE.pages:
            return Answer(200, markup.page(original, canonical=original))
    return None


def _page(asked: Asked) -> Answer | None:
    path = page_meant(asked.target)
    if path not in SITE.pages:
        return None
    if path == STUMBLES and not asked.earlier:
        return Answer(500, b"<h1>Try again</h1>")
    if path == BUSY and not asked.earlier:
        wait = {"Retry-After": str(RETRY_AFTER_SECONDS)}
        return Answer(429, b"<h1>Too many at once</h1>", headers=wait)
    body = markup.page(path)
    if b"{" in body:
        body = _with_host(body, asked.host)
    return Answer(200, body, wait_seconds=SLOW_SECONDS if path == SLOW else 0)


def page_meant(target: str) -> str:
    """Return a target without what changes nothing: sessions, tracking, order, the first page."""
    path, _, query = _SESSION.sub("", target).partition("?")
    kept = sorted(
        pair
        for pair in parse_qsl(query)
        if not pair[0].startswith(_IGNORED_PARAMETERS) and pair != ("page", "1")
    )
    return f"{path}?{urlencode(kept)}" if kept else path


def _with_host(body: bytes, host: str) -> bytes:
    name, _, port = host.partition(":")
    body = body.replace(b"{port}", f"http://{name}:0{port or 80}".encode())
    return body.replace(b"{shout}", f"HTTP://{host.upper()}".encode())
