"""An independent crawler, requests and lxml alone: the pages of a site that links lead to.

It prints one JSON object: by URL its status, its content type, where it redirects, its canonical
URL and a hash of its text.
"""

import json
import re
import sys
from collections import deque
from collections.abc import Iterator
from hashlib import sha256
from urllib.parse import urldefrag, urljoin, urlsplit

import requests
from lxml import html  # type: ignore[import-untyped]  # its types are a package of their own

LINKS = "//a/@href | //area/@href | //frame/@src | //iframe/@src"
NEIGHBOURS = "//link[@rel='next' or @rel='prev']/@href"
CANONICAL = "//link[@rel='canonical']/@href"
REFRESH = "//meta[translate(@http-equiv, 'REFSH', 'refsh')='refresh']/@content"
REFRESH_URL = re.compile(r"url\s*=\s*['\"]?([^'\"]+)", re.IGNORECASE)
UNSEEN = "//script | //style | //head"
Page = dict[str, object]


def crawl(start: str) -> dict[str, Page]:
    """Return what each URL of the start's host answered, breadth first."""
    session = requests.Session()
    session.trust_env = False
    found: dict[str, Page] = {}
    queue = deque([start])
    seen = {start}
    while queue:
        url = queue.popleft()
        answer = session.get(url, allow_redirects=False, timeout=60)
        kind = answer.headers.get("content-type", "").partition(";")[0]
        page: Page = {"status": answer.status_code, "type": kind}
        found[url] = page
        targets = [answer.headers["location"]] if answer.is_redirect else []
        page["location"] = urljoin(url, targets[0]) if targets else None
        base = url
        if answer.status_code == 200 and kind == "text/html" and answer.content.strip():
            tree = html.fromstring(answer.content)
            base = urljoin(url, next(iter(tree.xpath("//base/@href")), ""))
            targets += find_targets(tree)
            canonical = next(iter(tree.xpath(CANONICAL)), None)
            page["canonical"] = canonical and urljoin(base, canonical)
            page["text"] = hash_text(tree)
        for target in targets:
            joined = absolute(base, target)
            if joined and joined not in seen and urlsplit(joined).netloc == urlsplit(start).netloc:
                seen.add(joined)
                queue.append(joined)
    return found


def find_targets(tree: html.HtmlElement) -> Iterator[str]:
    """Yield what a page leads to."""
    for query in (LINKS, NEIGHBOURS):
        yield from map(str, tree.xpath(query))
    for content in tree.xpath(REFRESH):
        yield from REFRESH_URL.findall(content)


def absolute(base: str, target: str) -> str | None:
    """Return a link as a web URL without fragment; None for others."""
    try:
        joined = urldefrag(urljoin(base, target.strip())).url
    except ValueError:
        return None
    return joined if joined.startswith(("http://", "https://")) else None


def hash_text(tree: html.HtmlElement) -> str:
    """Return a hash of a page's words."""
    for element in tree.xpath(UNSEEN):
        element.drop_tree()
    return sha256(" ".join(tree.text_content().split()).encode()).hexdigest()


if __name__ == "__main__":
    print(json.dumps(crawl(sys.argv[1])))
