"""What a reader of results should know: what was left out, who was not asked, what ended early."""

from collections.abc import Iterator

from cinder.model.search import LOCAL, SearchMode, SearchRequest
from cinder.services.search.ranked_list import MAX_RESULTS_HELD, RankedList

_NO_PROVIDER = (
    "No web search provider is set up (setting search.providers): only pages that cinder has saved "
    "were searched."
)
_NONE_ANSWERED = "No web search provider answered: only pages that cinder has saved were searched."


def describe_warnings(
    ranked: RankedList, request: SearchRequest, *, is_cut_short: bool, was_lost: bool
) -> tuple[str, ...]:
    """Return the warnings of an answer, in sentences."""
    return (
        *_on_providers(ranked, request),
        *_on_filters(ranked, request),
        *_on_pages(ranked, request, is_cut_short=is_cut_short, was_lost=was_lost),
    )


def _on_providers(ranked: RankedList, request: SearchRequest) -> Iterator[str]:
    web = [source for source in ranked.sources if source.provider.name != LOCAL]
    asked = [source for source in web if source.provider.name in ranked.reports]
    if not web and LOCAL not in request.providers:
        yield _NO_PROVIDER
    elif asked and not any(source.next_page for source in asked):
        yield _NONE_ANSWERED


def _on_filters(ranked: RankedList, request: SearchRequest) -> Iterator[str]:
    is_deep = request.mode is SearchMode.DEEP
    if ranked.undated:
        way = "" if is_deep else "; mode deep reads the date from the page"
        yield f"{_results(ranked.undated)} left out by maxAge: nothing tells the date{way}."
    if request.filters.required_text:
        where = "the pages themselves" if is_deep else "titles, summaries and saved pages"
        yield f"requiredText was looked for in {where}."
    if ranked.unread:
        way = "could not be read" if is_deep else "mode deep reads it"
        yield f"{_results(ranked.unread)} left out whose whole text was not checked: {way}."


def _on_pages(
    ranked: RankedList, request: SearchRequest, *, is_cut_short: bool, was_lost: bool
) -> Iterator[str]:
    if was_lost:
        yield (
            "Earlier pages of this search are not held any more, so it was made anew: results may "
            "repeat."
        )
    if is_cut_short and ranked.results[request.offset :] == []:
        yield "The time ran out before this page of results. Ask for it again to go on."
    elif is_cut_short:
        yield "Not every provider could be asked to the end: there may be more. Ask again to go on."
    if ranked.is_full and request.offset + request.num_results >= MAX_RESULTS_HELD:
        yield f"A search holds at most {MAX_RESULTS_HELD} results. Narrow the query to find others."


def _results(left_out: set[str]) -> str:
    return f"{len(left_out)} results were" if len(left_out) > 1 else "One result was"
