"""Site maps: the URLs of a site, merged from several sources."""

import time
from collections.abc import Iterable

from cinder.crawl.robots import RobotsRules
from cinder.crawl.scope import MAX_DEPTH, CrawlScope, ScopeKind, ScopeRules
from cinder.crawl.urls import CanonicalUrl, canonicalize_unseen_url, canonicalize_url
from cinder.models.site_map import MappedUrl, MapSource

# A robots.txt can have so many rules that comparing all URLs of a site with them takes hours.
_MAX_JUDGING_SECONDS = 5.0


class UrlCollector:
    """Collects the URLs of a site, each once: those in scope that its robots.txt allows."""

    def __init__(self, start: CanonicalUrl, scope: ScopeKind, most: int) -> None:
        """Collect at most so many."""
        self._scope = CrawlScope(start, ScopeRules(kind=scope, max_depth=MAX_DEPTH))
        self.most = most
        self._origin = start.url[: start.url.index("/", len("https://")) + 1]
        self._found: dict[str, MappedUrl] = {}
        self.rules: RobotsRules | None = None
        """The robots rules of the start's origin, once they are known."""
        self.outside = 0
        """How many URLs of sitemaps and feeds are not in the scope."""
        self.disallowed = 0
        self.unjudged = 0
        """How many URLs were not compared with the robots rules, which are too many."""
        self._judging_seconds = 0.0
        self.is_cut = False
        """Whether there were more URLs than it may hold."""

    @property
    def is_full(self) -> bool:
        """Whether no further URL is taken."""
        return len(self._found) >= self.most

    @property
    def urls(self) -> list[MappedUrl]:
        """The URLs in the order in which they were found."""
        return list(self._found.values())

    def is_inside(self, url: str) -> bool:
        """Whether a URL is in the scope."""
        address = canonicalize_url(url)
        return address is not None and self._scope.judge(address, 1) is None

    def add(self, candidates: Iterable[MappedUrl]) -> None:
        """Take URLs; of one that is known, only what was not."""
        for candidate in candidates:
            address = canonicalize_unseen_url(candidate.url)
            if address is None:
                continue
            if (known := self._found.get(address.key)) is not None:
                if any(new and not old for new, old in zip(candidate[2:], known[2:], strict=True)):
                    self._found[address.key] = known._replace(
                        title=known.title or candidate.title,
                        modified=known.modified or candidate.modified,
                        link_text=known.link_text or candidate.link_text,
                    )
            elif self._scope.judge(address, 1) is not None:
                self.outside += candidate.source in (MapSource.SITEMAP, MapSource.FEED)
            elif self._is_disallowed(address.url):
                self.disallowed += 1
            elif self.is_full:
                self.is_cut = True
            else:
                is_same = address.url == candidate.url
                self._found[address.key] = (
                    candidate if is_same else candidate._replace(url=address.url)
                )

    def _is_disallowed(self, url: str) -> bool:
        # Other hosts of the site have rules of their own, which a scrape or a crawl reads.
        rules = self.rules
        if rules is None or rules.must_wait or not url.startswith(self._origin):
            return False
        if self._judging_seconds > _MAX_JUDGING_SECONDS:
            self.unjudged += 1
            return False
        began = time.perf_counter()
        is_disallowed = rules.judge(url) is not None
        self._judging_seconds += time.perf_counter() - began
        return is_disallowed
