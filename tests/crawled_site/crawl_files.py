"""What the website tells crawlers: robots.txt and its sitemaps, one of them zipped."""

import gzip
from xml.sax.saxutils import escape

from tests.crawled_site.corners import OUTSIDE, Oddity
from tests.crawled_site.fate import Fate
from tests.crawled_site.outline import archive_paths, build_outline

_XMLNS = "http://www.sitemaps.org/schemas/sitemap/0.9"
_INDEX, _PLAIN, _ZIPPED, _NAMED_IN_ROBOTS = (
    "/sitemaps/index.xml",
    "/sitemaps/recent.xml",
    "/sitemaps/older.xml.gz",
    "/sitemaps/oldest.xml",
)
SITEMAP_ODDITIES = (
    Oddity("/private/in-the-sitemap", _PLAIN, Fate.DISALLOWED),
    Oddity("/gone/in-the-sitemap", _PLAIN, Fate.FAILED, status=404),
    Oddity("/embers/?utm_source=sitemap", _ZIPPED, Fate.DUPLICATE, "/embers/"),
    Oddity(f"{OUTSIDE}/in-the-sitemap", _NAMED_IN_ROBOTS, Fate.OUTSIDE),
)


def robots_txt(base: str, crawl_delay: float | None) -> bytes:
    """Return the rules for crawlers, with a delay when one is wanted."""
    delay = f"Crawl-delay: {crawl_delay:g}\n" if crawl_delay is not None else ""
    return (
        "User-agent: greedy-bot\nDisallow: /\n\n"
        f"User-agent: *\n{delay}Disallow: /private/\nAllow: /private/open/\n"
        "Disallow: /search\nDisallow: /*.cgi$\nDisallow: /reports/*/draft$\n"
        f"Disallow: /*?*draft=\n\nSitemap: {base}{_INDEX}\nSitemap: {base}{_NAMED_IN_ROBOTS}\n"
    ).encode()


def sitemaps(base: str) -> dict[str, bytes]:
    """Return the sitemaps by their paths."""
    archive = archive_paths(build_outline())
    third = len(archive) // 3
    shares = {
        _PLAIN: ["/", *archive[:third]],
        _ZIPPED: archive[third : 2 * third],
        _NAMED_IN_ROBOTS: archive[2 * third :],
    }
    for odd in SITEMAP_ODDITIES:
        shares[odd.found_on].append(odd.href)
    files = {path: _url_set(base, paths) for path, paths in shares.items()}
    files[_ZIPPED] = gzip.compress(files[_ZIPPED], mtime=0)
    files[_INDEX] = _listing("sitemapindex", "sitemap", [base + _PLAIN, base + _ZIPPED])
    return files


def _url_set(base: str, paths: list[str]) -> bytes:
    whole = [base + path if path.startswith("/") else path for path in paths]
    return _listing("urlset", "url", whole)


def _listing(outer: str, inner: str, urls: list[str]) -> bytes:
    listed = "".join(f"<{inner}><loc>{escape(url)}</loc></{inner}>\n" for url in urls)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return f'{head}<{outer} xmlns="{_XMLNS}">\n{listed}</{outer}>\n'.encode()
