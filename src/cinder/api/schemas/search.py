"""Searches: their arguments, and their response with results or scraped pages."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import AfterValidator, Field

from cinder.api.arguments import Arguments, StrictInt
from cinder.api.errors import explain_verdict
from cinder.api.options import WireForm, build_request, with_options
from cinder.background import run_in_thread
from cinder.models.document import Json
from cinder.models.redaction import redact
from cinder.models.request import Mode, RenderOptions, ScrapeRequest
from cinder.models.saved import format_timestamp
from cinder.models.search import SearchAnswer, SearchMode, SearchRequest, SearchResult
from cinder.models.url import read_domain
from cinder.services.excerpt import TextWindow, fit_items, json_chars, take_excerpt
from cinder.services.reading import has_headings, read_markdown
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.search.fusion import cut_words
from cinder.services.search.query import MAX_QUERY_CHARS, clean_text, comparable
from cinder.services.search.service import MAX_PAGES, ScrapedResult, ScrapedSearch

MAX_DOMAINS = 100
MAX_PHRASES = 20


def _read_phrase(text: str) -> str:
    phrase = clean_text(text)
    if not comparable(phrase):
        raise ValueError("Give words to look for")
    return phrase


SearchQuery = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
Domain = Annotated[str, AfterValidator(read_domain)]
Phrase = Annotated[str, Field(max_length=MAX_QUERY_CHARS), AfterValidator(_read_phrase)]


def _unique(values: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


_WIRE_FORMS = {
    **dict.fromkeys(
        ("includeDomains", "excludeDomains"),
        WireForm(Annotated[list[Domain], Field(max_length=MAX_DOMAINS)], _unique),
    ),
    "requiredText": WireForm(Annotated[list[Phrase], Field(max_length=MAX_PHRASES)], _unique),
}


@with_options(SearchRequest, forms=_WIRE_FORMS)
class SearchArguments(Arguments):
    """A search."""

    query: SearchQuery
    """Words, `"phrases"` and `-words` to leave out."""

    if TYPE_CHECKING:
        # Read from the arguments themselves; `with_options` adds all options.
        offset: int = 0

    def to_request(self, *, caller: str) -> SearchRequest:
        """Return the request for the search."""
        return build_request(SearchRequest, self, _WIRE_FORMS, query=self.query, caller=caller)


@with_options(ScrapeRequest, only=("proxyPool",))
@with_options(
    SearchRequest,
    forms=_WIRE_FORMS,
    only=("includeDomains", "excludeDomains", "requiredText", "maxAge", "providers"),
)
class SearchAndScrapeArguments(Arguments):
    """A search whose first results are scraped."""

    query: SearchQuery
    """Words, `"phrases"` and `-words` to leave out."""
    num_results: Annotated[StrictInt, Field(ge=1, le=MAX_PAGES)] = 3
    """How many of the first results to scrape."""
    mode: Literal["fast", "balanced"] = "balanced"
    """How to search: `fast` asks one provider, `balanced` all of them."""
    scrape_mode: Mode = Mode.SMART
    """Which engine may fetch: `static` without a browser, `dynamic` with one, `smart` either."""

    if TYPE_CHECKING:
        # Read from the arguments themselves; `with_options` adds it.
        proxy_pool: str | None = None

    @property
    def render(self) -> RenderOptions:
        """How the results are fetched."""
        return RenderOptions(mode=self.scrape_mode, proxy_pool=self.proxy_pool)

    def to_request(self, *, caller: str) -> SearchRequest:
        """Return the request for the search."""
        mode = SearchMode(self.mode)
        return build_request(
            SearchRequest, self, _WIRE_FORMS, query=self.query, caller=caller, mode=mode
        )


_LEAST_SUMMARY_CHARS = 80
_LEAST_CONTENT_CHARS = 200
# What an answer says besides its results takes about so much.
_FRAME_CHARS = 500
_WHERE_THE_WHOLE_IS = "The savedUri, or scraping the page, has the whole."


def describe_search(answer: SearchAnswer, offset: int, max_chars: int) -> dict[str, Json]:
    """Return a page of results, without nulls.

    If they are too long together, summaries are shortened; if that is not enough, fewer results
    are returned, and `nextOffset` leads to the next ones.
    """
    warnings = list(answer.warnings)
    results = [describe_result(result) for result in answer.results]
    providers: list[Json] = [
        {
            "name": report.name,
            "milliseconds": report.milliseconds,
            "results": report.results,
            **({} if report.error is None else {"error": cut_words(report.error, 300)}),
        }
        for report in answer.providers
    ]
    shown = _fit_results(results, max_chars - json_chars(providers) - _FRAME_CHARS)
    is_cut = len(shown) < len(results)
    if is_cut:
        warnings.append(
            f"Only {len(shown)} of the {len(results)} results fit: go on at nextOffset."
        )
    data: dict[str, Json] = {
        "query": answer.query,
        "results": list(shown),
        "hasMore": answer.has_more or is_cut,
    }
    if is_cut or answer.has_more:
        data["nextOffset"] = offset + len(shown)
    data |= {"searchTime": answer.search_ms, "providers": providers}
    if warnings:
        data["warning"] = " ".join(warnings)
    return data


def describe_result(result: SearchResult) -> dict[str, Json]:
    """Return one result."""
    shown: dict[str, Json] = {
        "id": result.id,
        "title": result.title,
        "url": result.url,
        "domain": result.domain,
        "summary": result.summary,
        "relevance": result.relevance,
    }
    if result.published_at is not None:
        shown["publishedDate"] = format_timestamp(result.published_at)
    return shown


def _fit_results(results: Sequence[dict[str, Any]], max_chars: int) -> list[dict[str, Any]]:
    # Any: JSON. At least one result is returned, or the next page would be the same.
    excess = sum(map(json_chars, results)) - max_chars
    if excess <= 0 or not results:
        return list(results)
    longest = max(len(result["summary"]) for result in results)
    room = max(_LEAST_SUMMARY_CHARS, longest - excess // len(results) - 1)
    shorter = [result | {"summary": cut_words(result["summary"], room)} for result in results]
    return fit_items(shorter, max_chars) or shorter[:1]


async def describe_scraped(found: ScrapedSearch, max_chars: int) -> dict[str, Json]:
    """Return results with their pages, cut to a size."""
    data = describe_search(found.answer, 0, max_chars // 2)
    shown = cast(list[dict[str, Json]], data["results"])  # describe_search sets them
    pages = found.pages[: len(shown)]
    results = [one | _describe_page(page) for one, page in zip(shown, pages, strict=True)]
    texts = [_text_of(page.outcome) for page in pages]
    shares = share_room([*map(len, texts)], max_chars - json_chars(results) - _FRAME_CHARS)
    cut = []
    for index, page in enumerate(pages):
        if page.outcome is None:
            continue
        work = (page.outcome, found.answer.query, shares[index])
        content = await run_in_thread(len(texts[index]), _read_passages, *work)
        results[index]["content"] = content
        if content != texts[index]:
            cut.append(str(index + 1))
    data["results"] = list(results)
    if cut:
        warning = f"Of {', '.join(cut)} only the passages that match best are shown. "
        warning += _WHERE_THE_WHOLE_IS
        data["warning"] = f"{data['warning']} {warning}" if "warning" in data else warning
    return data


def _describe_page(page: ScrapedResult) -> dict[str, Json]:
    if page.error is not None:
        return {"error": f"{page.error.code}: {cut_words(redact(page.error.message), 300)}"}
    if page.outcome is None:
        return {}
    document = page.outcome.document
    shown: dict[str, Json] = {"statusCode": document.status_code, "verdict": document.verdict.kind}
    shown |= {k: v for k, v in explain_verdict(page.outcome).items() if k != "tried"}
    if document.final_url != document.url:
        shown["finalUrl"] = document.final_url
    if page.outcome.saved is not None:
        shown["savedUri"] = page.outcome.saved.primary_uri
    if page.outcome.warning:
        shown["pageWarning"] = page.outcome.warning
    return shown


def share_room(sizes: Sequence[int], room: int) -> list[int]:
    """Return the room of each of several texts; long texts get what short ones leave."""
    shares = [0] * len(sizes)
    waiting = sorted(range(len(sizes)), key=lambda index: sizes[index])
    for position, index in enumerate(waiting):
        fair = max(_LEAST_CONTENT_CHARS, room // (len(waiting) - position))
        shares[index] = min(sizes[index], fair)
        room -= shares[index]
    return shares


def _text_of(outcome: ScrapeOutcome | None) -> str:
    if outcome is None:
        return ""
    media = outcome.document.media
    if media is not None:
        return f"This is a file, not a page: {media.mime}, {len(media.data)} bytes."
    return outcome.document.content.markdown or ""


def _read_passages(outcome: ScrapeOutcome, query: str, max_chars: int) -> str:
    """Return the text of a page; if it is too long, passages on the query or its beginning."""
    text = _text_of(outcome)
    if len(text) <= max_chars:
        return text
    if outcome.document.content.markdown is None:
        return take_excerpt(text, TextWindow(0, max_chars)).text
    is_structured = has_headings(outcome.document)
    found = read_markdown(text, TextWindow(0, max_chars, query=query), has_headings=is_structured)
    if found.passages:
        return found.excerpt.text
    return read_markdown(text, TextWindow(0, max_chars), has_headings=is_structured).excerpt.text
