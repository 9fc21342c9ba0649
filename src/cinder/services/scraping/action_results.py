"""What browser actions brought home, made readable: scraped HTML as markdown."""

from collections.abc import Iterable
from dataclasses import replace

from cinder.errors import Overloaded, ParseLimitExceeded
from cinder.extract.options import ExtractOptions
from cinder.model.document import ActionResult, FetchedPage
from cinder.model.request import ContentOptions, Format
from cinder.services.sandbox.sandbox import ExtractionSandbox


async def convert_scraped(
    page: FetchedPage, sandbox: ExtractionSandbox, *, remove_base64_images: bool
) -> tuple[ActionResult, ...]:
    """Return a page's action results, those that scraped HTML with the markdown made of it.

    HTML that cannot be converted within the sandbox's limits stays as it is.
    """
    # What a caller scrapes by an action is the content, whatever it looks like.
    options = ExtractOptions(
        formats=(Format.MARKDOWN,),
        content=ContentOptions(only_main_content=False),
        strip_chrome_tags=False,
        remove_base64_images=remove_base64_images,
    )
    return tuple([await _converted(result, page, sandbox, options) for result in page.actions])


def unconverted_warnings(actions: Iterable[ActionResult]) -> tuple[str, ...]:
    """Return a sentence on the scraped HTML of which no markdown could be made."""
    left = sum(result.html is not None and result.markdown is None for result in actions)
    return (
        (f"The HTML of {left} scrape action(s) could not be turned to markdown.",) if left else ()
    )


async def _converted(
    result: ActionResult, page: FetchedPage, sandbox: ExtractionSandbox, options: ExtractOptions
) -> ActionResult:
    if result.html is None:
        return result
    scraped = replace(
        page,
        body=result.html.encode(errors="replace"),
        headers={"content-type": "text/html; charset=utf-8"},
    )
    try:
        content = await sandbox.extract(scraped, options)
    except (Overloaded, ParseLimitExceeded):
        return result
    return result if content.is_partial else replace(result, markdown=content.markdown)
