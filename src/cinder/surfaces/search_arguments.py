"""The arguments of a search, as POST /v1/search, the MCP tools and `cinder search` take them."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from cinder.model.domains import read_domain
from cinder.model.request import Mode
from cinder.model.search import MAX_RESULTS, SearchFilters, SearchMode, SearchRequest
from cinder.services.search.query_text import MAX_QUERY_CHARS, clear_text, comparable
from cinder.services.search.search_and_scrape import MAX_PAGES
from cinder.surfaces.arguments import Arguments, Whole, read_number

MAX_DOMAINS = 100
MAX_PHRASES = 20
MAX_OFFSET = 1_000_000
MAX_AGE_DAYS = 36_500
MAX_PROVIDERS = 20


def _read_phrase(text: str) -> str:
    phrase = clear_text(text)
    if not comparable(phrase):
        raise ValueError("Give words to look for")
    return phrase


Query = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
Domain = Annotated[str, AfterValidator(read_domain)]
Phrase = Annotated[str, Field(max_length=MAX_QUERY_CHARS), AfterValidator(_read_phrase)]
Days = Annotated[
    float, BeforeValidator(read_number), Field(gt=0, le=MAX_AGE_DAYS, allow_inf_nan=False)
]


class FilterArguments(Arguments):
    """What is searched for, where, and what every result must be like."""

    query: Query
    """Words, `"phrases"` and `-words` to leave out."""
    include_domains: Annotated[list[Domain], Field(max_length=MAX_DOMAINS)] = Field(
        default_factory=list
    )
    """Only results of these domains and their subdomains; of a URL, its host counts."""
    exclude_domains: Annotated[list[Domain], Field(max_length=MAX_DOMAINS)] = Field(
        default_factory=list
    )
    """No results of these domains and their subdomains."""
    required_text: Annotated[list[Phrase], Field(max_length=MAX_PHRASES)] = Field(
        default_factory=list
    )
    """Phrases that must all be in a result: in title, summary or saved text; in deep, the page."""
    max_age: Days | None = None
    """Only results of the last so many days; those whose date nothing tells are left out."""
    providers: Annotated[list[str], Field(max_length=MAX_PROVIDERS)] = Field(default_factory=list)
    """Who to ask, instead of all that are set up; `local` searches saved pages."""

    def to_filters(self) -> SearchFilters:
        """Return what every result must be like."""
        return SearchFilters(
            include_domains=tuple(dict.fromkeys(self.include_domains)),
            exclude_domains=tuple(dict.fromkeys(self.exclude_domains)),
            required_text=tuple(dict.fromkeys(self.required_text)),
            max_age_days=self.max_age,
        )


class SearchArguments(FilterArguments):
    """A search."""

    mode: SearchMode = SearchMode.BALANCED
    """`fast`: one provider; `balanced`: all, fused; `deep`: reads the pages, too (5-15 s)."""
    num_results: Annotated[Whole, Field(ge=1, le=MAX_RESULTS)] = 10
    """How many results to return."""
    offset: Annotated[Whole, Field(ge=0, le=MAX_OFFSET)] = 0
    """How many to skip: `nextOffset` of the last answer."""

    def to_request(self, *, caller: str) -> SearchRequest:
        """Return the request that these arguments make."""
        return SearchRequest(
            query=self.query,
            caller=caller,
            mode=self.mode,
            num_results=self.num_results,
            offset=self.offset,
            filters=self.to_filters(),
            providers=tuple(self.providers),
        )


class SearchAndScrapeArguments(FilterArguments):
    """A search whose first results are scraped."""

    num_results: Annotated[Whole, Field(ge=1, le=MAX_PAGES)] = 3
    """How many of the first results to scrape."""
    mode: Literal["fast", "balanced"] = "balanced"
    """How to search: `fast` asks one provider, `balanced` all of them."""
    scrape_mode: Mode = Mode.SMART
    """Which engine may fetch: `static` without a browser, `dynamic` with one, `smart` either."""

    def to_request(self, *, caller: str) -> SearchRequest:
        """Return the search that these arguments ask for."""
        return SearchRequest(
            query=self.query,
            caller=caller,
            mode=SearchMode(self.mode),
            num_results=self.num_results,
            filters=self.to_filters(),
            providers=tuple(self.providers),
        )
