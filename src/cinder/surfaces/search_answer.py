"""The answers to searches, as REST, MCP and the command line all give them."""

from collections.abc import Sequence
from typing import Any, cast

from cinder.model.document import Json
from cinder.model.redaction import redact
from cinder.model.saved import format_timestamp
from cinder.model.search import ProviderReport, SearchAnswer, SearchResult
from cinder.services.excerpt import Window, take_excerpt
from cinder.services.fitting import fit_items, json_chars
from cinder.services.off_loop import off_loop
from cinder.services.reading import has_headings, read_markdown
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.search.fusion import cut_words
from cinder.services.search.search_and_scrape import ScrapedResult, ScrapedSearch
from cinder.surfaces.verdict_advice import explain_verdict

_LEAST_SUMMARY_CHARS = 80
_LEAST_CONTENT_CHARS = 200
# What an answer says besides its results takes about so much.
_FRAME_CHARS = 500
_WHOLE = "The savedUri, or scraping the page, has the whole."


def describe_search(answer: SearchAnswer, offset: int, max_chars: int) -> dict[str, Json]:
    """Return a page of results, without nulls.

    Where they are too long together, summaries are shortened; where that does not suffice, fewer
    results are returned, and `nextOffset` leads to the next of them.
    """
    warnings = list(answer.warnings)
    results = [describe_result(result) for result in answer.results]
    providers: list[Json] = [_describe_provider(report) for report in answer.providers]
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


def _describe_provider(report: ProviderReport) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "name": report.name,
        "milliseconds": report.milliseconds,
        "results": report.results,
    }
    if report.error is not None:
        shown["error"] = cut_words(report.error, 300)
    return shown


def _fit_results(results: Sequence[dict[str, Any]], max_chars: int) -> list[dict[str, Any]]:
    # Any: JSON. At least one comes back, lest the next page be the same one.
    excess = sum(map(json_chars, results)) - max_chars
    if excess <= 0 or not results:
        return list(results)
    longest = max(len(result["summary"]) for result in results)
    room = max(_LEAST_SUMMARY_CHARS, longest - excess // len(results) - 1)
    shorter = [result | {"summary": cut_words(result["summary"], room)} for result in results]
    return fit_items(shorter, max_chars) or shorter[:1]


async def describe_scraped(found: ScrapedSearch, max_chars: int) -> dict[str, Json]:
    """Return results with their pages, as much of each as there is room for."""
    data = describe_search(found.answer, 0, max_chars // 2)
    shown = cast(list[dict[str, Json]], data["results"])  # the objects that were just put there
    pages = found.pages[: len(shown)]
    results = [one | _describe_page(page) for one, page in zip(shown, pages, strict=True)]
    texts = [_text_of(page.outcome) for page in pages]
    shares = share_room([*map(len, texts)], max_chars - json_chars(results) - _FRAME_CHARS)
    cut = []
    for place, page in enumerate(pages):
        if page.outcome is None:
            continue
        work = (page.outcome, found.answer.query, shares[place])
        content = await off_loop(len(texts[place]), _read, *work)
        results[place]["content"] = content
        if content != texts[place]:
            cut.append(str(place + 1))
    data["results"] = list(results)
    if cut:
        _warn(data, f"Of {', '.join(cut)} only the passages that match best are shown. {_WHOLE}")
    return data


def _warn(data: dict[str, Json], warning: str) -> None:
    data["warning"] = f"{data['warning']} {warning}" if "warning" in data else warning


def _describe_page(page: ScrapedResult) -> dict[str, Json]:
    if page.error is not None:
        return {"error": f"{page.error.code}: {cut_words(redact(page.error.message), 300)}"}
    if page.outcome is None:
        return {}
    document = page.outcome.document
    told: dict[str, Json] = {"statusCode": document.status_code, "verdict": document.verdict.kind}
    told |= {k: v for k, v in explain_verdict(page.outcome).items() if k != "tried"}
    if document.final_url != document.url:
        told["finalUrl"] = document.final_url
    if page.outcome.saved is not None:
        told["savedUri"] = page.outcome.saved.primary_uri
    if page.outcome.warning:
        told["pageWarning"] = page.outcome.warning
    return told


def share_room(sizes: Sequence[int], room: int) -> list[int]:
    """Return how much each of several texts may take: what short ones leave goes to long ones."""
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


def _read(outcome: ScrapeOutcome, query: str, max_chars: int) -> str:
    """Return a page's text; of a long one the passages on the query, else its beginning."""
    text = _text_of(outcome)
    if len(text) <= max_chars:
        return text
    if outcome.document.content.markdown is None:
        return take_excerpt(text, Window(0, max_chars)).text
    is_structured = has_headings(outcome.document)
    found = read_markdown(text, Window(0, max_chars, query=query), has_headings=is_structured)
    if found.passages:
        return found.excerpt.text
    return read_markdown(text, Window(0, max_chars), has_headings=is_structured).excerpt.text
