"""The website in a process of its own, which outlives whatever is killed in front of it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from tests.crawled_site.server import FORGET, LOG, Manners
from tests.crawled_site.visits import Visit, Visits

_ROOT = Path(__file__).parent.parent.parent
_ANSWER_SECONDS = 60


@dataclass(frozen=True, slots=True)
class CrawledSite:
    """The running website, seen from a test."""

    base: str

    @property
    def address(self) -> str:
        return self.base.removeprefix("http://")

    def url(self, path: str) -> str:
        return self.base + path

    def name(self, url: str) -> str:
        """Return a URL as the manifest names it: those of the website without its address."""
        return url.partition("#")[0].removeprefix(self.base)

    def visits(self) -> Visits:
        """Return who has been there."""
        with urlopen(self.url(LOG), timeout=_ANSWER_SECONDS) as reply:
            told = json.load(reply)
        found = [Visit(**fields) for fields in told["visits"]]
        return Visits(sorted(found, key=lambda visit: visit.started))

    def forget(self) -> None:
        """Have the website forget who has been there, and what it did once already."""
        with urlopen(self.url(FORGET), timeout=_ANSWER_SECONDS) as reply:
            reply.read()


@contextmanager
def serve_crawled_site(manners: Manners | None = None) -> Iterator[CrawledSite]:
    """Serve the website until the exit."""
    manners = manners or Manners()
    options = ["--latency-seconds", str(manners.latency_seconds)]
    if manners.crawl_delay is not None:
        options += ["--crawl-delay", str(manners.crawl_delay)]
    command = [sys.executable, "-m", "tests.crawled_site", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as process:
        assert process.stdout is not None
        try:
            yield CrawledSite(process.stdout.readline().strip())
        finally:
            process.terminate()
