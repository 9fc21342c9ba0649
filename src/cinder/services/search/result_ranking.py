"""Ranks and filters candidates: which become results, and in which order."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from cinder.errors import CinderError
from cinder.models.search import LOCAL, SearchFilters, SearchMode, SearchRequest
from cinder.models.url import is_within
from cinder.services.search.fusion import ResultCandidate, coverage, fuse, parse_result_url
from cinder.services.search.query import comparable
from cinder.services.search.ranked_list import RankedList
from cinder.services.search.result_pages import (
    ResultReader,
    ResultText,
    SavedTexts,
    TextScore,
    score_pages,
)
from cinder.text.terms import find_query_terms


@dataclass(frozen=True, slots=True)
class ResultFilter:
    """Judges candidates by what a caller asked for, at one moment."""

    filters: SearchFilters
    now: datetime

    def is_of_domain(self, candidate: ResultCandidate) -> bool:
        """Whether it comes from where results may come from."""
        host, filters = candidate.address.host, self.filters
        is_included = not filters.include_domains or is_within(host, filters.include_domains)
        return is_included and not is_within(host, filters.exclude_domains)

    def is_undated(self, candidate: ResultCandidate) -> bool:
        """Whether an age is asked for, and it has none."""
        date = candidate.published_at or candidate.first_seen_at
        return self.filters.max_age_days is not None and date is None

    def is_too_old(self, candidate: ResultCandidate) -> bool:
        """Whether it is older than asked for."""
        date = candidate.published_at or candidate.first_seen_at
        if self.filters.max_age_days is None or date is None:
            return False
        return self.now - date > timedelta(days=self.filters.max_age_days)

    def has_required(self, texts: Sequence[str]) -> bool:
        """Whether every phrase that is required stands in one of the texts."""
        if not self.filters.required_text:
            return True
        compared = [comparable(text) for text in texts]
        phrases = [comparable(phrase) for phrase in self.filters.required_text]
        return all(any(phrase in text for text in compared) for phrase in phrases)


# How many of the first results a deep search reads at least, and at most where text is required.
LEAST_READ, MOST_READ = 10, 30

# Of one page of all providers, how many may be looked up in what is saved.
_MOST_CHECKED = 200
_TEXT_SHARE = 0.6
# A summary may be as good as a page, but it is somebody else's word.
_SUMMARY_TRUST = 0.6


class ResultRanker:
    """Turns what providers found into results."""

    def __init__(
        self,
        reader: ResultReader,
        saved: SavedTexts,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._reader = reader
        self._saved = saved
        self._now = now

    async def settle(self, ranked: RankedList, request: SearchRequest, read_by: float) -> None:
        """Make results of all that is pending."""
        taken = list(ranked.pending)
        result_filter = ResultFilter(request.filters, self._now())
        found = [each for each in fuse(taken, request.query) if each.address.id not in ranked.ids]
        wanted = [
            each
            for each in found
            if result_filter.is_of_domain(each) and not result_filter.is_too_old(each)
        ]
        read: set[str] = set()
        if request.mode is SearchMode.DEEP:
            pages = await self._read(wanted, request, read_by)
            read = set(pages)
            wanted = await _by_pages(wanted, pages, request.query, ranked.ids)
            wanted = [each for each in wanted if not result_filter.is_too_old(each)]
        undated = {each.address.id for each in wanted if result_filter.is_undated(each)}
        dated = [each for each in wanted if each.address.id not in undated]
        lookup = _Lookup(result_filter, request.caller, read_by)
        kept = await self._require_text(dated, lookup, ranked)
        # From here on nothing is awaited: what was pending becomes results as a whole.
        ranked.pending = ranked.pending[len(taken) :]
        ranked.append(kept)
        ranked.ids |= read
        ranked.undated = (ranked.undated | undated) - {each.address.id for each in kept}

    async def _read(
        self, candidates: Sequence[ResultCandidate], request: SearchRequest, read_by: float
    ) -> dict[str, ResultText]:
        most = MOST_READ if request.filters.required_text else request.num_results
        first = candidates[: min(max(LEAST_READ, most), MOST_READ)]
        if set(request.providers) == {LOCAL}:
            return await self._read_saved(first, request.caller)
        return await self._reader.read(first, request.caller, read_by)

    async def _read_saved(
        self, candidates: Sequence[ResultCandidate], caller: str
    ) -> dict[str, ResultText]:
        """Return what is saved of pages: who asks for those alone wants nothing to be fetched."""
        pages = {}
        for each in candidates:
            with suppress(CinderError):  # it is judged by its summary then
                text = await self._saved.find(each.address.given, caller)
                if text is not None:
                    pages[each.address.id] = ResultText(markdown=text, title=each.title)
        return pages

    async def _require_text(
        self, candidates: Sequence[ResultCandidate], lookup: "_Lookup", ranked: RankedList
    ) -> list[ResultCandidate]:
        """Return those that have the required text: in what was said or read of them, or kept."""
        if not lookup.result_filter.filters.required_text:
            return list(candidates)
        async with asyncio.TaskGroup() as tasks:
            checks = [
                tasks.create_task(self._has_required(each, lookup))
                for each in candidates[:_MOST_CHECKED]
            ]
        kept = [each for each, check in zip(candidates, checks, strict=False) if check.result()]
        left_out = {each.address.id for each in candidates} - {each.address.id for each in kept}
        read = {each.address.id for each in candidates if each.is_read}
        ranked.unread = (ranked.unread | left_out) - read
        return kept

    async def _has_required(self, candidate: ResultCandidate, lookup: "_Lookup") -> bool:
        if lookup.result_filter.has_required(candidate.texts):
            return True
        if candidate.is_read:
            return False
        try:
            async with asyncio.timeout_at(lookup.until):
                text = await self._saved.find(candidate.address.given, lookup.caller)
        except (TimeoutError, CinderError):
            return False  # it counts as unread, and that is told
        return text is not None and lookup.result_filter.has_required((*candidate.texts, text))


@dataclass(frozen=True, slots=True)
class _Lookup:
    """What required text is looked for by, on whose behalf, and until when."""

    result_filter: ResultFilter
    caller: str
    until: float


async def _by_pages(
    candidates: Sequence[ResultCandidate], pages: dict[str, ResultText], query: str, given: set[str]
) -> list[ResultCandidate]:
    """Return candidates in the order of their real text, as far as it could be read."""
    scores = await asyncio.to_thread(score_pages, query, pages)
    wanted = find_query_terms(query)
    judged = [
        _by_page(each, pages[each.address.id], scores[each.address.id])
        if each.address.id in pages
        else _by_summary(each, wanted)
        for each in candidates
    ]
    judged.sort(key=lambda each: -each.relevance)
    return _without_copies(judged, pages, given)


def _by_page(candidate: ResultCandidate, page: ResultText, score: TextScore) -> ResultCandidate:
    is_nameless = candidate.title == candidate.address.url
    return replace(
        candidate,
        title=(page.title if is_nameless else "") or candidate.title,
        summary=score.passage or candidate.summary,
        relevance=(1 - _TEXT_SHARE) * candidate.relevance + _TEXT_SHARE * score.score,
        published_at=candidate.published_at or page.published_at,
        texts=(page.title, page.markdown),
        is_read=True,
    )


def _by_summary(candidate: ResultCandidate, wanted: set[str]) -> ResultCandidate:
    covered = max(coverage(text, wanted) for text in candidate.texts)
    trusted = _TEXT_SHARE * _SUMMARY_TRUST * covered
    return replace(candidate, relevance=(1 - _TEXT_SHARE) * candidate.relevance + trusted)


def _without_copies(
    candidates: Sequence[ResultCandidate], pages: dict[str, ResultText], given: set[str]
) -> list[ResultCandidate]:
    """Return candidates without those that redirect to a page that is there already."""
    seen = set(given)
    kept = []
    for each in candidates:
        page = pages.get(each.address.id)
        landed = parse_result_url(page.final_url) if page else None
        ids = {each.address.id, landed.id if landed else each.address.id}
        if seen.isdisjoint(ids):
            kept.append(each)
        seen |= ids
    return kept
