"""The arguments of a page scrape, as POST /v1/scrape and the MCP tool `cinder_scrape` take them."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from cinder.errors import FieldProblem
from cinder.model.request import (
    ContentOptions,
    Format,
    Mode,
    PdfParser,
    RenderOptions,
    ScrapeRequest,
)
from cinder.surfaces.arguments import Arguments, Flag
from cinder.surfaces.reading_answer import Query, SectionName
from cinder.surfaces.scrape_arguments import WebUrl


class ReturnFormat(StrEnum):
    """The form in which the page's content is returned."""

    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


_FORMATS = {
    ReturnFormat.MARKDOWN: (Format.MARKDOWN,),
    ReturnFormat.HTML: (Format.HTML,),
    ReturnFormat.JSON: (Format.MARKDOWN, Format.LINKS),
}


class PageArguments(Arguments):
    """One page to scrape."""

    url: WebUrl
    """The page; https:// is added where the scheme is missing."""
    mode: Mode = Mode.SMART
    """Which engine may fetch: `static` without a browser, `dynamic` with one, `smart` either."""
    include_metadata: Flag = True
    """Return what the page says of itself: description, author, dates, images, JSON-LD."""
    return_format: ReturnFormat = ReturnFormat.MARKDOWN
    """The form of `content`; `json` is a string of title, outline, sections, tables and links."""
    section: SectionName | None = None
    """Return this section alone, by the id in `outline` or by its title."""
    query: Query | None = None
    """Return the passages of the markdown that match these words, instead of all of it."""

    def to_request(self, *, caller: str, timeout_ms: int = 60_000) -> ScrapeRequest:
        """Return the request that these arguments make."""
        return ScrapeRequest(
            url=self.url,
            formats=_FORMATS[self.return_format],
            timeout_ms=timeout_ms,
            content=ContentOptions(pdf_parser=PdfParser()),
            render=RenderOptions(mode=self.mode),
            caller=caller,
            keep_http_errors=True,
        )


def check_parts(given: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Name what does not go together with reading a part of the markdown."""
    narrowing = next((name for name in ("section", "query") if name in given), None)
    if narrowing and given.get("returnFormat", ReturnFormat.MARKDOWN) != ReturnFormat.MARKDOWN:
        message = "Only markdown can be read in parts: leave returnFormat out"
        yield FieldProblem(narrowing, message)


PAGE_CHECKS = (check_parts,)
