"""The website keeps what its manifest says: a small crawler finds exactly that."""

import gzip
import hashlib
import re
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

import can_ada
import curl_cffi.requests
import pytest
from curl_cffi.requests import Response, Session
from protego import Protego
from selectolax.lexbor import LexborHTMLParser

from tests.crawled_site import SITE, CrawledSite, Fate, serve_crawled_site
from tests.crawled_site.answers import SLOW_SECONDS, Asked, answer
from tests.crawled_site.outline import BUSY, PAGES, SLOW, STUMBLES
from tests.crawled_site.server import Manners

AGENT = "small-crawler"
WORDS_A_SHINGLE = 3
SKETCH = 48
ALIKE = 0.8
UNLIKE = 0.2
TRIES = 2
MAX_REDIRECTS = 5
DROPPED_PARAMETERS = ("utm_", "gclid", "fbclid", "msclkid", "sid")


@dataclass
class SmallCrawler:
    """Crawls breadth first, one page at a time, and does not follow the links of copies."""

    site: CrawledSite
    session: Session[Response]
    fates: dict[str, Fate] = field(default_factory=dict)
    queue: deque[str] = field(default_factory=deque)
    alike: dict[int, list[str]] = field(default_factory=dict)

    def run(self) -> dict[str, Fate]:
        self.robots = Protego.parse(self._get(self.site.url("/robots.txt")).text)
        self._add(self.site.url("/"))
        for sitemap in self.robots.sitemaps:
            self._read_sitemap(sitemap)
        while self.queue:
            url = self.queue.popleft()
            self.fates[url] = self._visit(url)
        return {self.site.name(url): fate for url, fate in self.fates.items()}

    def _read_sitemap(self, url: str) -> None:
        body = self._get(url).content
        text = (gzip.decompress(body) if url.endswith(".gz") else body).decode()
        for found in re.findall(r"<loc>([^<]*)</loc>", text):
            if "<sitemapindex" in text:
                self._read_sitemap(found)
            else:
                self._add(found)

    def _add(self, url: str) -> None:
        url = canonical_form(url)
        if url in self.fates:
            return
        if not url.startswith(self.site.base + "/"):
            self.fates[url] = Fate.OUTSIDE
        elif not self.robots.can_fetch(url, AGENT):
            self.fates[url] = Fate.DISALLOWED
        else:
            self.fates[url] = Fate.FETCHED
            self.queue.append(url)

    def _visit(self, url: str, redirects: int = 0) -> Fate:
        reply = self._get(url)
        if reply.status_code in (301, 302, 303, 307, 308):
            target = resolve(url, reply.headers["Location"] or "")
            if redirects == MAX_REDIRECTS:
                return Fate.FAILED
            if target.startswith(self.site.base + "/farther/"):
                return self._visit(target, redirects + 1)
            self._add(target)
            return Fate.REDIRECT
        if reply.status_code != 200:
            return Fate.FAILED
        if not (reply.headers["Content-Type"] or "").startswith("text/html"):
            return Fate.FILE
        return self._read(url, LexborHTMLParser(reply.text))

    def _read(self, url: str, tree: LexborHTMLParser) -> Fate:
        named = tree.css_first("link[rel=canonical]")
        if named is not None and resolve(url, named.attributes["href"] or "") != url:
            return Fate.DUPLICATE
        main = tree.css_first("main")
        assert main is not None
        if self._is_copy(url, main.text(separator=" ")):
            return Fate.DUPLICATE
        based = tree.css_first("base")
        base = resolve(url, based.attributes["href"] or "") if based is not None else url
        for link in tree.css("a[href]"):
            self._add(resolve(base, link.attributes["href"] or ""))
        return Fate.FETCHED

    def _is_copy(self, url: str, text: str) -> bool:
        sketch = sketch_of(text)
        shared = Counter(other for each in sketch for other in self.alike.get(each, ()))
        if any(count >= ALIKE * len(sketch) for count in shared.values()):
            return True
        for each in sketch:
            self.alike.setdefault(each, []).append(url)
        return False

    def _get(self, url: str) -> Response:
        for _ in range(TRIES):
            try:
                reply = self.session.get(url, allow_redirects=False)
            except OSError:
                return NO_ANSWER
            if reply.status_code not in (429, 500):
                break
        return reply


NO_ANSWER = Response()
NO_ANSWER.status_code = 0


def resolve(base: str, href: str) -> str:
    return (can_ada.parse(base) + href).href


def canonical_form(url: str) -> str:
    parsed = can_ada.parse(re.sub(r";jsessionid=\w+", "", url))
    parsed.hash = ""
    query = parse_qsl(parsed.search.removeprefix("?"))
    kept = sorted(pair for pair in query if not pair[0].startswith(DROPPED_PARAMETERS))
    parsed.search = urlencode(kept)
    return parsed.href


def sketch_of(text: str) -> frozenset[int]:
    words = re.findall(r"\w+", text)
    shingles = zip(*(words[start:] for start in range(WORDS_A_SHINGLE)), strict=False)
    hashes = {
        int.from_bytes(hashlib.blake2b(" ".join(each).encode(), digest_size=8).digest(), "big")
        for each in shingles
    }
    return frozenset(sorted(hashes)[:SKETCH])


@pytest.fixture(scope="module")
def crawled() -> Iterator[CrawledSite]:
    with serve_crawled_site(Manners(latency_seconds=0)) as site:
        yield site


def test_the_manifest_names_a_thousand_pages_and_no_other_url_is_one_of_them() -> None:
    assert len(SITE.pages) == PAGES
    assert not SITE.pages & SITE.explained.keys()
    assert set(SITE.explained.values()) == set(Fate) - {Fate.FETCHED}


def test_a_crawl_finds_the_pages_of_the_manifest_and_explains_every_other_url(
    crawled: CrawledSite,
) -> None:
    crawled.forget()
    with Session[Response]() as session:
        fates = SmallCrawler(crawled, session).run()
    assert {url for url, fate in fates.items() if fate is Fate.FETCHED} == SITE.pages
    assert {url: fate for url, fate in fates.items() if not SITE.accepts(url, fate)} == {}
    in_order = {url for url in SITE.explained if is_canonical(crawled, url)}
    assert in_order <= fates.keys()
    visits = crawled.visits()
    assert visits.max_at_once() == 1
    forbidden = {url for url, fate in SITE.explained.items() if fate is Fate.DISALLOWED}
    assert not (forbidden - SITE.redirecting) & visits.times().keys()


def test_no_page_is_like_another_but_copies_are() -> None:
    sketches = {path: sketch_of(main_text(path)) for path in SITE.pages}
    holders: dict[int, list[str]] = {}
    for path, sketch in sketches.items():
        neighbours = Counter(other for each in sketch for other in holders.get(each, ()))
        assert max(neighbours.values(), default=0) < SKETCH * UNLIKE
        for each in sketch:
            holders.setdefault(each, []).append(path)
    for copy in ("/near", "/mirror", "/print"):
        for url in (url for url in SITE.explained if url.startswith(f"{copy}/")):
            original = sketches[url.removeprefix(copy)]
            assert len(original & sketch_of(main_text(url))) > SKETCH * ALIKE


def test_the_traps_have_no_end_and_nothing_new(crawled: CrawledSite) -> None:
    for url, original in (
        ("/calendar/2031/2", "/calendar/2026/11"),
        ("/shop/?colour=red&order=price&size=xs", "/shop/"),
        ("/maze/a/b/a/b/a/b/a/b/", "/maze/"),
    ):
        assert SITE.fate_of(url) is Fate.TRAP
        assert SITE.original_of(url) == original
        assert len(sketch_of(main_text(url)) & sketch_of(main_text(original))) > SKETCH * ALIKE
        tree = LexborHTMLParser(answer(Asked(url, crawled.address)).body)
        hrefs = {link.attributes["href"] or "" for link in tree.css("main a")}
        farther = {crawled.name(resolve(crawled.url(url), href)) for href in hrefs} - {url}
        assert {SITE.fate_of(each) for each in farther} == {Fate.TRAP}


def test_two_pages_fail_once_and_then_do_not(crawled: CrawledSite) -> None:
    crawled.forget()
    with Session[Response]() as session:
        for path, status in ((STUMBLES, 500), (BUSY, 429)):
            first, second = (session.get(crawled.url(path)) for _ in range(2))
            assert (first.status_code, second.status_code) == (status, 200)
    assert crawled.visits().times() == {STUMBLES: 2, BUSY: 2}


def test_the_slow_page_is_slow_and_the_log_tells_how_many_were_under_way(
    crawled: CrawledSite,
) -> None:
    crawled.forget()
    with ThreadPoolExecutor() as pool:
        replies = list(pool.map(curl_cffi.requests.get, [crawled.url(SLOW)] * 2))
    assert [reply.status_code for reply in replies] == [200, 200]
    visits = crawled.visits()
    assert all(visit.ended - visit.started >= SLOW_SECONDS for visit in visits.all)
    assert visits.max_at_once() == 2
    assert 0 < visits.min_gap_seconds() < SLOW_SECONDS


def test_robots_asks_for_a_delay_when_told_to() -> None:
    body = answer(Asked("/robots.txt", "127.0.0.1:1", crawl_delay=0.5)).body.decode()
    assert Protego.parse(body).crawl_delay(AGENT) == 0.5
    body = answer(Asked("/robots.txt", "127.0.0.1:1")).body.decode()
    assert Protego.parse(body).crawl_delay(AGENT) is None


def is_canonical(site: CrawledSite, url: str) -> bool:
    whole = site.url(url) if url.startswith("/") else url
    return canonical_form(whole) == whole


def main_text(target: str) -> str:
    main = LexborHTMLParser(answer(Asked(target, "127.0.0.1:1", earlier=1)).body).css_first("main")
    assert main is not None
    return main.text(separator=" ")
