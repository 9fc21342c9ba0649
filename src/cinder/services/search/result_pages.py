"""The pages behind results: scraped or read from the archive, and scored by their text."""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from cinder.errors import CinderError
from cinder.fair_queue import FairQueue, Requester
from cinder.models.document import VerdictKind
from cinder.models.request import ContentOptions, Mode, PdfParser, RenderOptions, ScrapeRequest
from cinder.models.saved import SavedKind, parse_saved_uri
from cinder.services.archive import Archive
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.search.fusion import SUMMARY_CHARS, ResultCandidate, coverage, cut_words
from cinder.text.markdown_blocks import BlockKind, find_blocks
from cinder.text.outline import find_outline
from cinder.text.passages import find_passages
from cinder.text.sentences import plain_text
from cinder.text.terms import find_query_terms, find_terms

# Longer pages are judged by their beginning: reading all of them would take the search's time.
SCORED_CHARS = 60_000

# The usual constants of BM25.
_SATURATION, _LENGTH_WEIGHT = 1.2, 0.75
_COVERAGE_SHARE = 0.5
_WORD = re.compile(r"\w+")
# What a table has between its cells, and beneath its head.
_RULE = re.compile(r"(?m)^[ \t|:-]+$")
_CELL_MARKS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultText:
    """What was read of a page."""

    markdown: str
    title: str = ""
    final_url: str = ""
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TextScore:
    """How well a page's text answers a query, from 0 to 1, and the passage that does it best."""

    score: float
    passage: str


def score_pages(query: str, pages: Mapping[str, ResultText]) -> dict[str, TextScore]:
    """Return the score of each page among these, under the same names."""
    wanted = find_query_terms(query)
    texts = {name: f"{page.title}\n{page.markdown[:SCORED_CHARS]}" for name, page in pages.items()}
    weights = _weigh(texts, wanted)
    best = max(weights.values(), default=0.0) or 1.0
    scores = {}
    for name, page in pages.items():
        passage = find_best_passage(page.markdown[:SCORED_CHARS], query)
        covered = coverage(f"{page.title} {passage}", wanted)
        share = _COVERAGE_SHARE * covered + (1 - _COVERAGE_SHARE) * weights[name] / best
        scores[name] = TextScore(share, passage)
    return scores


def find_best_passage(markdown: str, query: str) -> str:
    """Return the part of a text that matches best, as plain text; empty where nothing does."""
    blocks = find_blocks(markdown)
    found = find_passages(markdown, blocks, find_outline(markdown, blocks), query)
    if not found:
        return ""
    text = markdown[found[0].start : found[0].end]
    if found[0].kind is BlockKind.TABLE:
        text = _CELL_MARKS.sub(" ", _RULE.sub("", text))
    return _densest(plain_text(text), find_query_terms(query))


def _weigh(texts: Mapping[str, str], wanted: set[str]) -> dict[str, float]:
    counts = {name: Counter(find_terms(text)) for name, text in texts.items()}
    having = Counter(term for found in counts.values() for term in wanted if term in found)
    lengths = {name: found.total() for name, found in counts.items()}
    mean = sum(lengths.values()) / max(1, len(lengths)) or 1.0
    weights = {}
    for name, found in counts.items():
        relative = _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * lengths[name] / mean)
        weights[name] = sum(
            math.log(1 + (len(texts) + 0.5) / (having[term] + 0.5))
            * found[term]
            * (_SATURATION + 1)
            / (found[term] + relative)
            for term in sorted(wanted)
        )
    return weights


def _densest(text: str, wanted: set[str]) -> str:
    """Return the part of a long passage that has most of the wanted words."""
    if len(text) <= SUMMARY_CHARS:
        return text
    places = [
        (word.start(), term)
        for word in _WORD.finditer(text)
        for term in wanted.intersection(find_terms(word[0]))
    ]
    starts = [0, *(place for place, _ in places)]
    room = SUMMARY_CHARS // 2
    best = max(
        starts, key=lambda start: len({t for place, t in places if start <= place < start + room})
    )
    begin = max(0, best - SUMMARY_CHARS // 4)
    begin = text.rfind(" ", 0, begin) + 1 if begin else 0
    lead = "…" if begin else ""
    return lead + cut_words(text[begin:], SUMMARY_CHARS - len(lead))


_READABLE = (VerdictKind.OK, VerdictKind.PARTIAL)


class ResultScraper(Protocol):
    """Scrapes a URL; `ScrapeService` does."""

    async def scrape(self, request: ScrapeRequest) -> ScrapeOutcome:
        """Return a URL's content.

        Raises:
            CinderError: it could not be had.
        """
        ...


class ResultReader:
    """Reads the pages of candidates, so many at once for all searches together."""

    def __init__(self, scraper: ResultScraper, *, at_once: int = 16) -> None:
        self._scraper = scraper
        self._slots = FairQueue(at_once)

    async def read(
        self, candidates: Sequence[ResultCandidate], caller: str, until: float
    ) -> dict[str, ResultText]:
        """Return what could be read by a moment of the loop's clock, by the candidates' ids."""
        async with asyncio.TaskGroup() as tasks:
            reading = {
                each.address.id: tasks.create_task(self._read(each.address.url, caller, until))
                for each in candidates
            }
        pages = {name: task.result() for name, task in reading.items()}
        return {name: page for name, page in pages.items() if page is not None}

    async def _read(self, url: str, caller: str, until: float) -> ResultText | None:
        try:
            who = Requester(caller=caller)
            async with asyncio.timeout_at(until), self._slots.hold(who):
                left = until - asyncio.get_running_loop().time()
                outcome = await self._scraper.scrape(page_request(url, caller, left))
        except (TimeoutError, CinderError):
            return None  # the search goes on by what the providers said of it
        document = outcome.document
        if document.verdict.kind not in _READABLE or not document.content.markdown:
            return None
        return ResultText(
            markdown=document.content.markdown,
            title=document.content.metadata.title or "",
            final_url=document.final_url,
            published_at=read_date(document.content.metadata.published),
        )


def page_request(url: str, caller: str, seconds: float, mode: Mode = Mode.SMART) -> ScrapeRequest:
    """Return the request for a result's page: the same that `cinder_scrape` would make of it.

    So whoever reads the page after the search has it from the cache.
    """
    return ScrapeRequest(
        url=url,
        timeout_ms=max(1, round(seconds * 1000)),
        content=ContentOptions(pdf_parser=PdfParser()),
        render=RenderOptions(mode=mode),
        caller=caller,
        keep_http_errors=True,
    )


def read_date(text: str | None) -> datetime | None:
    """Return the moment that a page's date means; None where it means none."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# A page may be kept in many forms; their texts differ little.
_MAX_ENTRIES = 5


class SavedTexts(Protocol):
    """Knows the text of pages that are kept."""

    async def find(self, url: str, caller: str) -> str | None:
        """Return the newest text of a page; None where none is kept for the caller.

        Raises:
            CacheFailed: the database could not be read.
        """
        ...


class ArchivedTexts:
    """Reads the archive."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    async def find(self, url: str, caller: str) -> str | None:
        """Return the newest text of a page; None where none is kept for the caller.

        Raises:
            CacheFailed: the database could not be read.
        """
        for entry in (await self._archive.list_entries(url))[:_MAX_ENTRIES]:
            _, kind = parse_saved_uri(entry.uri)
            if kind is SavedKind.CLEANED:
                body = await self._archive.read(entry.uri, caller)
                if body is not None and body.text is not None:
                    return body.text
        return None
