"""Ranks and filters candidates, in deep searches by the text of their pages."""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from cinder.errors import CinderError
from cinder.fair_queue import FairQueue, Requester
from cinder.models.document import VerdictKind
from cinder.models.request import ContentOptions, PdfParser, RenderOptions, ScrapeRequest
from cinder.models.saved import SavedKind, parse_saved_uri
from cinder.models.search import LOCAL, SearchFilters, SearchMode, SearchRequest
from cinder.models.url import is_within
from cinder.services.archive import Archive
from cinder.services.scraping.outcome import Scraper
from cinder.services.search.fusion import (
    SUMMARY_CHARS,
    ResultCandidate,
    coverage,
    cut_words,
    fuse,
    parse_result_url,
)
from cinder.services.search.query import comparable
from cinder.services.search.ranked_list import RankedList
from cinder.text.bm25 import Bm25
from cinder.text.markdown_blocks import BlockKind, find_blocks
from cinder.text.outline import find_outline
from cinder.text.query_passages import find_passages
from cinder.text.sentences import plain_text
from cinder.text.terms import find_query_terms, find_terms

# Only the beginning of longer pages is scored, for the sake of the search's time.
SCORED_CHARS = 60_000

_COVERAGE_SHARE = 0.5
_WORD = re.compile(r"\w+")
# The delimiter row of a table, and the pipes between its cells.
_RULE = re.compile(r"(?m)^[ \t|:-]+$")
_CELL_MARKS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultText:
    """The text of a page."""

    markdown: str
    title: str = ""
    final_url: str = ""
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TextScore:
    """How well a page's text matches a query, from 0 to 1, and its best passage."""

    score: float
    passage: str


def score_pages(query: str, pages: Mapping[str, ResultText]) -> dict[str, TextScore]:
    """Return the score of each page relative to the others, by the same keys."""
    terms = find_query_terms(query)
    texts = {name: f"{page.title}\n{page.markdown[:SCORED_CHARS]}" for name, page in pages.items()}
    weights = _score_bm25(texts, terms)
    best = max(weights.values(), default=0.0) or 1.0
    scores = {}
    for name, page in pages.items():
        passage = find_best_passage(page.markdown[:SCORED_CHARS], query)
        covered = coverage(f"{page.title} {passage}", terms)
        share = _COVERAGE_SHARE * covered + (1 - _COVERAGE_SHARE) * weights[name] / best
        scores[name] = TextScore(share, passage)
    return scores


def find_best_passage(markdown: str, query: str) -> str:
    """Return the part of a text that matches best, as plain text; empty if none does."""
    blocks = find_blocks(markdown)
    found = find_passages(markdown, blocks, find_outline(markdown, blocks), query)
    if not found:
        return ""
    terms = find_query_terms(query)
    # A passage may be part of a block, or several small ones.
    within = [
        block for block in blocks if block.start < found[0].end and block.end > found[0].start
    ]
    best = max(within, key=lambda block: coverage(markdown[block.start : block.end], terms))
    text = markdown[best.start : best.end]
    if best.kind is BlockKind.TABLE:
        text = _CELL_MARKS.sub(" ", _RULE.sub("", text))
    return _densest(plain_text(text), terms)


def _score_bm25(texts: Mapping[str, str], terms: set[str]) -> dict[str, float]:
    counts = {name: Counter(find_terms(text)) for name, text in texts.items()}
    lengths = {name: found.total() for name, found in counts.items()}
    model = Bm25(
        (terms & found.keys() for found in counts.values()),
        list(lengths.values()),
        # A term that all of the few pages have still counts.
        rarity=lambda texts, having: math.log(1 + (texts + 0.5) / (having + 0.5)),
    )
    return {
        name: sum(model.score(term, found[term], lengths[name]) for term in sorted(terms))
        for name, found in counts.items()
    }


def _densest(text: str, terms: set[str]) -> str:
    """Return the part of a long passage that has most of the terms."""
    if len(text) <= SUMMARY_CHARS:
        return text
    matches = [
        (word.start(), term)
        for word in _WORD.finditer(text)
        for term in terms.intersection(find_terms(word[0]))
    ]
    starts = [0, *(position for position, _ in matches)]
    room = SUMMARY_CHARS // 2
    best = max(
        starts, key=lambda start: len({term for at, term in matches if start <= at < start + room})
    )
    begin = max(0, best - SUMMARY_CHARS // 4)
    begin = text.rfind(" ", 0, begin) + 1 if begin else 0
    lead = "…" if begin else ""
    return lead + cut_words(text[begin:], SUMMARY_CHARS - len(lead))


_READABLE = (VerdictKind.OK, VerdictKind.PARTIAL)


class ResultReader:
    """Reads the pages of candidates, with one limit for all searches together."""

    def __init__(self, scraper: Scraper, *, at_once: int = 16) -> None:
        self._scraper = scraper
        self._slots = FairQueue(at_once)

    async def read(
        self, candidates: Sequence[ResultCandidate], caller: str, until: float
    ) -> dict[str, ResultText]:
        """Return the pages that could be read until a deadline, by the candidates' ids."""
        async with asyncio.TaskGroup() as tasks:
            reads = {
                found.address.id: tasks.create_task(self._read(found.address.url, caller, until))
                for found in candidates
            }
        return {name: page for name, task in reads.items() if (page := task.result()) is not None}

    async def _read(self, url: str, caller: str, until: float) -> ResultText | None:
        try:
            who = Requester(caller=caller)
            async with asyncio.timeout_at(until), self._slots.hold(who):
                left = until - asyncio.get_running_loop().time()
                outcome = await self._scraper.scrape(page_request(url, caller, left))
        except (TimeoutError, CinderError):
            return None  # the candidate is ranked by its summary
        document = outcome.document
        if document.verdict.kind not in _READABLE or not document.content.markdown:
            return None
        return ResultText(
            markdown=document.content.markdown,
            title=document.content.metadata.title or "",
            final_url=document.final_url,
            published_at=read_date(document.content.metadata.published),
        )


def page_request(
    url: str, caller: str, seconds: float, render: RenderOptions | None = None
) -> ScrapeRequest:
    """Return the request for a result's page.

    It has the defaults of `cinder_scrape`, so that a later scrape of the page uses the cache.
    """
    return ScrapeRequest(
        url=url,
        timeout_ms=max(1, round(seconds * 1000)),
        content=ContentOptions(pdf_parser=PdfParser()),
        render=render or RenderOptions(),
        caller=caller,
        keep_http_errors=True,
    )


def read_date(text: str | None) -> datetime | None:
    """Parse a page's date; None if it is not valid."""
    try:
        timestamp = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)


# A page may be saved in many forms; their texts differ little.
_MAX_ENTRIES = 5


# Returns the newest text of a saved page, by its URL and the caller; None if there is none.
FindSavedText: TypeAlias = Callable[[str, str], Awaitable[str | None]]


async def find_saved_text(archive: Archive, url: str, caller: str) -> str | None:
    """Return the newest text of a page; None if none is saved for the caller.

    Raises:
        CacheFailed: the database could not be read.
    """
    for entry in (await archive.list_entries(url))[:_MAX_ENTRIES]:
        _, kind = parse_saved_uri(entry.uri)
        if kind is SavedKind.CLEANED:
            body = await archive.read(entry.uri, caller)
            if body is not None and body.text is not None:
                return body.text
    return None


@dataclass(frozen=True, slots=True)
class ResultFilter:
    """Checks candidates against the filters of a request, at one time."""

    filters: SearchFilters
    now: datetime

    def is_of_domain(self, candidate: ResultCandidate) -> bool:
        """Whether its domain is included and not excluded."""
        host, filters = candidate.address.host, self.filters
        is_included = not filters.include_domains or is_within(host, filters.include_domains)
        return is_included and not is_within(host, filters.exclude_domains)

    def is_undated(self, candidate: ResultCandidate) -> bool:
        """Whether the filters limit the age, and its age is unknown."""
        date = candidate.published_at or candidate.first_seen_at
        return self.filters.max_age_days is not None and date is None

    def is_too_old(self, candidate: ResultCandidate) -> bool:
        """Whether it is older than the filters allow."""
        date = candidate.published_at or candidate.first_seen_at
        if self.filters.max_age_days is None or date is None:
            return False
        return self.now - date > timedelta(days=self.filters.max_age_days)

    def has_required(self, texts: Sequence[str]) -> bool:
        """Whether every required phrase is in one of the texts."""
        if not self.filters.required_text:
            return True
        compared = [comparable(text) for text in texts]
        phrases = [comparable(phrase) for phrase in self.filters.required_text]
        return all(any(phrase in text for text in compared) for phrase in phrases)


# How many of the first results a deep search reads at least, and at most where text is required.
LEAST_READ, MOST_READ = 10, 30

# How many candidates of one round may be looked up in the archive.
_MOST_CHECKED = 200
_TEXT_SHARE = 0.6
# A provider's summary counts less than the page itself.
_SUMMARY_TRUST = 0.6


class ResultRanker:
    """Turns the hits of providers into results."""

    def __init__(
        self,
        reader: ResultReader,
        find_saved_text: FindSavedText,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._reader = reader
        self._find_saved_text = find_saved_text
        self._now = now

    async def settle(self, ranked: RankedList, request: SearchRequest, read_by: float) -> None:
        """Turn all pending hits into results."""
        taken = list(ranked.pending)
        result_filter = ResultFilter(request.filters, self._now())
        candidates = [
            found
            for found in fuse(taken, request.query)
            if found.address.id not in ranked.ids
            and result_filter.is_of_domain(found)
            and not result_filter.is_too_old(found)
        ]
        read: set[str] = set()
        if request.mode is SearchMode.DEEP:
            pages = await self._read(candidates, request, read_by)
            read = set(pages)
            candidates = await _rank_by_pages(candidates, pages, request.query, ranked.ids)
            candidates = [found for found in candidates if not result_filter.is_too_old(found)]
        undated = {found.address.id for found in candidates if result_filter.is_undated(found)}
        kept = [found for found in candidates if found.address.id not in undated]
        if request.filters.required_text:
            kept = await self._require_text(kept, result_filter, request.caller, read_by, ranked)
        # Nothing is awaited below, so that all pending hits become results together.
        ranked.pending = ranked.pending[len(taken) :]
        ranked.append(kept)
        ranked.ids |= read
        ranked.undated = (ranked.undated | undated) - {found.address.id for found in kept}

    async def _read(
        self, candidates: Sequence[ResultCandidate], request: SearchRequest, read_by: float
    ) -> dict[str, ResultText]:
        most = MOST_READ if request.filters.required_text else request.num_results
        first = candidates[: min(max(LEAST_READ, most), MOST_READ)]
        if set(request.providers) != {LOCAL}:
            return await self._reader.read(first, request.caller, read_by)
        # A search of saved pages alone fetches nothing.
        pages = {}
        for found in first:
            with suppress(CinderError):  # the candidate is ranked by its summary then
                text = await self._find_saved_text(found.address.provider_url, request.caller)
                if text is not None:
                    pages[found.address.id] = ResultText(markdown=text, title=found.title)
        return pages

    async def _require_text(
        self,
        candidates: Sequence[ResultCandidate],
        result_filter: ResultFilter,
        caller: str,
        until: float,
        ranked: RankedList,
    ) -> list[ResultCandidate]:
        """Return the candidates whose summary, page or saved text has the required text."""

        async def has_required(candidate: ResultCandidate) -> bool:
            if result_filter.has_required(candidate.texts):
                return True
            if candidate.is_read:
                return False
            try:
                async with asyncio.timeout_at(until):
                    text = await self._find_saved_text(candidate.address.provider_url, caller)
            except (TimeoutError, CinderError):
                return False  # it is reported as unread
            return text is not None and result_filter.has_required((*candidate.texts, text))

        async with asyncio.TaskGroup() as tasks:
            checks = [tasks.create_task(has_required(it)) for it in candidates[:_MOST_CHECKED]]
        kept = [found for found, check in zip(candidates, checks, strict=False) if check.result()]
        left_out = {found.address.id for found in candidates} - {it.address.id for it in kept}
        read = {found.address.id for found in candidates if found.is_read}
        ranked.unread = (ranked.unread | left_out) - read
        return kept


async def _rank_by_pages(
    candidates: Sequence[ResultCandidate],
    pages: dict[str, ResultText],
    query: str,
    seen_ids: set[str],
) -> list[ResultCandidate]:
    """Return candidates in the order of their pages' text, without redirects to seen pages."""
    scores = await asyncio.to_thread(score_pages, query, pages)
    terms = find_query_terms(query)
    scored = []
    for found in candidates:
        share = (1 - _TEXT_SHARE) * found.relevance
        if (page := pages.get(found.address.id)) is None:
            covered = max(coverage(text, terms) for text in found.texts)
            trusted = _TEXT_SHARE * _SUMMARY_TRUST * covered
            scored.append(replace(found, relevance=share + trusted))
            continue
        score = scores[found.address.id]
        is_nameless = found.title == found.address.url
        scored.append(
            replace(
                found,
                title=(page.title if is_nameless else "") or found.title,
                summary=score.passage or found.summary,
                relevance=share + _TEXT_SHARE * score.score,
                published_at=found.published_at or page.published_at,
                texts=(page.title, page.markdown),
                is_read=True,
            )
        )
    scored.sort(key=lambda found: -found.relevance)
    seen, kept = set(seen_ids), []
    for found in scored:
        page = pages.get(found.address.id)
        landed = parse_result_url(page.final_url) if page else None
        ids = {found.address.id, landed.id if landed else found.address.id}
        if seen.isdisjoint(ids):
            kept.append(found)
        seen |= ids
    return kept
