"""What the engines know of the web, and how they search it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)

_TOKEN = re.compile(r'"([^"]+)"|(-?site:\S+)|(\w+)')


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page as engines know it."""

    url: str
    title: str
    text: str
    published: datetime | None = None

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    def is_on(self, domain: str) -> bool:
        return self.host == domain or self.host.endswith(f".{domain}")


class Web:
    """Pages, found by their words; whoever has more of them comes first."""

    def __init__(self, pages: Sequence[WebPage], *, now: datetime = NOW) -> None:
        self.pages = tuple(pages)
        self._now = now

    def find(self, query: str, *, max_days: float | None = None) -> list[WebPage]:
        """Search with the operators that engines know: `site:`, `-site:` and phrases."""
        newer_than = self._now - timedelta(days=max_days) if max_days else None
        tokens = _TOKEN.findall(query)
        phrases = [phrase.lower() for phrase, _, _ in tokens if phrase]
        sites = [site.rstrip(")") for _, site, _ in tokens if site]
        words = [word.lower() for _, _, word in tokens if word and word != "OR"]
        wanted = [site.removeprefix("site:") for site in sites if site.startswith("site:")]
        unwanted = [site.removeprefix("-site:") for site in sites if site.startswith("-site:")]
        scored = [
            (_count_words(page, words), page)
            for page in self.pages
            if (not wanted or any(map(page.is_on, wanted)))
            and not any(map(page.is_on, unwanted))
            and all(phrase in page.text.lower() for phrase in phrases)
            and _is_newer(page, newer_than)
        ]
        scored.sort(key=lambda pair: -pair[0])
        return [page for score, page in scored if score]


def _count_words(page: WebPage, words: Sequence[str]) -> int:
    text = f"{page.title} {page.text}".lower()
    return sum(word in text for word in words)


def _is_newer(page: WebPage, moment: datetime | None) -> bool:
    return moment is None or (page.published is not None and page.published >= moment)


def some_pages(
    count: int, *, about: str = "embers", host: str = "embers.example", now: datetime = NOW
) -> Web:
    """Make pages on one subject, the first from today and each next one a day older."""
    return Web(
        [
            WebPage(
                f"https://{host}/{about}/{number}",
                f"All about {about}, part {number}",
                f"What to know of {about} & <ash>: number {number}.",
                now - timedelta(days=number),
            )
            for number in range(count)
        ],
        now=now,
    )
