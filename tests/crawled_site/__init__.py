"""A website of 1,000 pages, with traps, for crawls to be tried on; `SITE` says what is right."""

from tests.crawled_site.manifest import SITE, Fate, Manifest
from tests.crawled_site.running import CrawledSite, serve_crawled_site
from tests.crawled_site.visits import Visit, Visits

__all__ = ["SITE", "CrawledSite", "Fate", "Manifest", "Visit", "Visits", "serve_crawled_site"]
