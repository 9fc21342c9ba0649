"""The arguments of a page scrape, as POST /v1/scrape and the MCP tool `cinder_scrape` take them."""

from enum import StrEnum

from cinder.model.request import (
    ContentOptions,
    Format,
    Mode,
    PdfParser,
    RenderOptions,
    ScrapeRequest,
)
from cinder.surfaces.arguments import Arguments
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
    include_metadata: bool = True
    """Return what the page says of itself: description, author, dates, images, JSON-LD."""
    return_format: ReturnFormat = ReturnFormat.MARKDOWN
    """The form of `content`; `json` is a string of title, outline, sections, tables and links."""

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
