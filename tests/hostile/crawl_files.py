"""Files about a site that crawls read before its pages: robots.txt and sitemaps."""

import gzip
from collections.abc import Callable

from tests.hostile.case import OK, Bounds, Case, Task, cases_of
from tests.hostile.wire import answer, head

_TEN_MEGABYTES = 9_800_000
_ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))


def _text(body: str) -> bytes:
    return answer(body.encode(), kind=b"text/plain")


def _xml(body: str) -> bytes:
    return answer(body.encode(), kind=b"application/xml")


def _leads_to(location: str) -> bytes:
    return answer(b"", b"Location: " + location.encode(), status=b"302 Found")


ROBOTS: dict[str, Callable[[], bytes]] = {
    "long-rule": lambda: _text("User-agent: *\nDisallow: /" + "a" * _TEN_MEGABYTES),
    "many-rules": lambda: _text(
        "User-agent: *\n" + "".join(f"Disallow: /a{n}/*/b\n" for n in range(100_000))
    ),
    "many-agents": lambda: _text("User-agent: x\n" * 200_000 + "Disallow: /"),
    "wildcards": lambda: _text("User-agent: *\nDisallow: /" + "*a" * 300 + "b$"),
    "endless-delay": lambda: _text("User-agent: *\nCrawl-delay: 1e999"),
    "delay-of-a-day": lambda: _text("User-agent: *\nCrawl-delay: 86400"),
    "delay-of-digits": lambda: _text("User-agent: *\nCrawl-delay: " + "9" * 100_000),
    "utf-16": lambda: answer("User-agent: *\nAllow: /".encode("utf-16"), kind=b"text/plain"),
    "percent": lambda: _text("User-agent: *\nDisallow: /%" + "%zz" * 10_000),
    "many-groups": lambda: _text("".join(f"User-agent: a{n}\nAllow: /\n" for n in range(50_000))),
    "line-without-end": lambda: _text("U" * _TEN_MEGABYTES),
    "sitemap-of-port": lambda: _text("Sitemap: http://site.invalid:25/sitemap.xml\n"),
    "chain": lambda: _leads_to("/endless/chain"),
    "negative-delay": lambda: _text("User-agent: *\nCrawl-delay: -5"),
    "delay-of-letters": lambda: _text("User-agent: *\nCrawl-delay: soon"),
    "nul": lambda: _text("User-agent: *\0\nDisallow: /\0"),
    "html": lambda: answer(b"<html>no robots</html>"),
    "not-text": lambda: answer(bytes(range(256)) * 1_000, kind=b"text/plain"),
    "error": lambda: answer(b"", status=b"500 X"),
    "to-canary": lambda: _leads_to("http://{canary}/robots.txt"),
    "to-file": lambda: _leads_to("file:///etc/passwd"),
    "loop": lambda: _leads_to("/robots.txt"),
    "sitemap-of-canary": lambda: _text("Sitemap: http://{canary}/sitemap.xml\n"),
    "sitemap-of-file": lambda: _text("Sitemap: file:///etc/passwd\n"),
    "many-sitemaps": lambda: _text("".join(f"Sitemap: /s{n}.xml\n" for n in range(50_000))),
    "bomb": lambda: answer(
        gzip.compress(bytes(100_000_000)), b"Content-Encoding: gzip", kind=b"text/plain"
    ),
    "broken": lambda: head(b"Content-Length: -1"),
}

SITEMAPS: dict[str, Callable[[], bytes]] = {
    "laughs": lambda: _xml(
        f'<!DOCTYPE l [<!ENTITY e0 "lol">{_ENTITIES}]><urlset><url><loc>&e9;</loc></url></urlset>'
    ),
    "long-entity": lambda: _xml(
        f'<!DOCTYPE x [<!ENTITY a "{"a" * 50_000}">]><urlset>' + "&a;" * 50_000 + "</urlset>"
    ),
    "entity-of-file": lambda: _xml(
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
        "<urlset><url><loc>&a;</loc></url></urlset>"
    ),
    "entity-of-canary": lambda: _xml(
        '<!DOCTYPE x [<!ENTITY a SYSTEM "http://{canary}/">]>'
        "<urlset><url><loc>&a;</loc></url></urlset>"
    ),
    "parameter-entity": lambda: _xml(
        '<!DOCTYPE x [<!ENTITY % a SYSTEM "http://{canary}/x.dtd"> %a;]><urlset/>'
    ),
    "dtd-of-canary": lambda: _xml('<!DOCTYPE x SYSTEM "http://{canary}/x.dtd"><urlset/>'),
    "included-file": lambda: _xml(
        '<urlset xmlns:xi="http://www.w3.org/2001/XInclude"><url><loc>'
        '<xi:include href="file:///etc/hostname" parse="text"/></loc></url></urlset>'
    ),
    "style-of-canary": lambda: _xml(
        '<?xml-stylesheet href="http://{canary}/x.xsl" type="text/xsl"?><urlset/>'
    ),
    "deep": lambda: _xml("<a>" * 100_000 + "</a>" * 100_000),
    "page-of-canary": lambda: _xml("<urlset><url><loc>http://{canary}/</loc></url></urlset>"),
    "page-of-file": lambda: _xml("<urlset><url><loc>file:///etc/passwd</loc></url></urlset>"),
    "index-loop": lambda: _xml(
        "<sitemapindex><sitemap><loc>/sitemap.xml</loc></sitemap></sitemapindex>"
    ),
    "index-of-canary": lambda: _xml(
        "<sitemapindex><sitemap><loc>http://{canary}/s.xml</loc></sitemap></sitemapindex>"
    ),
    "many-elsewhere": lambda: _xml(
        "<urlset>"
        + "".join(f"<url><loc>http://off{n}.invalid/</loc></url>" for n in range(50_000))
        + "</urlset>"
    ),
    "long-address": lambda: _xml(
        f"<urlset><url><loc>http://site.invalid/{'a' * _TEN_MEGABYTES}</loc></url></urlset>"
    ),
    "instructions": lambda: _xml("<?a b?>" * 1_000_000 + "<urlset/>"),
    "cdata": lambda: _xml(
        f"<urlset><url><loc><![CDATA[{'a' * _TEN_MEGABYTES}]]></loc></url></urlset>"
    ),
    "dates": lambda: _xml(
        "<urlset><url><loc>/plain</loc><lastmod>9999-99-99T</lastmod></url></urlset>"
    ),
    "index-of-indexes": lambda: _xml(
        "<sitemapindex>"
        + "".join(f"<sitemap><loc>/sitemap.xml?{n}</loc></sitemap>" for n in range(5_000))
        + "</sitemapindex>"
    ),
    "many-the-same": lambda: _xml("<urlset>" + "<url><loc>/plain</loc></url>" * 200_000),
    "many-ports": lambda: _xml(
        "".join(f"<url><loc>http://127.0.0.1:{n}/</loc></url>" for n in range(1, 5_000))
    ),
    "attributes": lambda: _xml("<urlset " + " ".join(f'a{n}="1"' for n in range(100_000)) + "/>"),
    "namespaces": lambda: _xml(
        "<urlset " + " ".join(f'xmlns:n{n}="u"' for n in range(50_000)) + "/>"
    ),
    "not-closed": lambda: _xml("<urlset><url><loc>/plain"),
    "priority": lambda: _xml(
        "<urlset><url><loc>/plain</loc><priority>1e999</priority></url></urlset>"
    ),
    "text": lambda: _text("http://{canary}/\n" * 10_000),
    "feed": lambda: _xml(
        "<rss><channel><item><link>http://{canary}/</link></item></channel></rss>"
    ),
    "html": lambda: answer(b"<html><body>no sitemap"),
    "utf-16": lambda: answer("<urlset/>".encode("utf-16"), kind=b"application/xml"),
    "bomb": lambda: answer(gzip.compress(bytes(100_000_000)), kind=b"application/gzip"),
    "to-canary": lambda: _leads_to("http://{canary}/sitemap.xml"),
}

FILES = {
    **{f"robots {name}": ("/robots.txt", build) for name, build in ROBOTS.items()},
    **{f"sitemap {name}": ("/sitemap.xml", build) for name, build in SITEMAPS.items()},
}


def site_address(number: int) -> str:
    """Return the loopback address of the site that has the file of this number."""
    return f"127.0.1.{number + 1}"


def crawl_cases() -> list[Case]:
    """Return a crawl of a small site for each of the files."""
    bounds = Bounds(seconds=60)
    cases = []
    for number, name in enumerate(FILES):
        start = {
            "url": f"http://{site_address(number)}:{{site_port}}/plain",
            "maxDepth": 2,
            "maxPages": 3,
        }
        [case] = cases_of(name, [start], OK, task=Task.CRAWL, bounds=bounds)
        cases.append(case)
    return cases
