"""PDF documents: which are parsed, how those are judged, and what is said of what they lack."""

from cinder.fetch.media import is_pdf
from cinder.model.document import Extraction, FetchedPage, Verdict, VerdictKind
from cinder.model.request import Format, ScrapeRequest
from cinder.services.scraping.cache_key import kept_formats

_MADE_OF_PDF = (
    Format.MARKDOWN,
    Format.HTML,
    Format.LINKS,
    Format.IMAGES,
    Format.SUMMARY,
    Format.CHANGE_TRACKING,
)
# What the file itself answers.
_SERVED_BY_FILE = (Format.RAW_HTML,)
_SCREENSHOTS = (Format.SCREENSHOT, Format.FULL_SCREENSHOT)


def is_pdf_to_parse(page: FetchedPage, request: ScrapeRequest) -> bool:
    """Whether an answer is a PDF of which the request wants text.

    One who wants nothing converted, or only what a PDF has none of, gets the file itself.
    """
    if request.content.pdf_parser is None or not request.content.clean:
        return False
    return any(wanted in _MADE_OF_PDF for wanted in request.formats) and _is_pdf_file(page)


def judge_pdf(page: FetchedPage, content: Extraction | None) -> Verdict:
    """Return the verdict on a parsed PDF; a file shows no signs of walls and shells."""
    if page.is_cut:
        return Verdict(VerdictKind.PARTIAL, f"the file broke off after {len(page.body)} bytes")
    if content is not None and content.empty_evidence:
        return Verdict(VerdictKind.EMPTY, content.empty_evidence)
    if content is not None and content.is_partial:
        evidence = "a limit cost some of the content: the warnings say which"
        return Verdict(VerdictKind.PARTIAL, evidence)
    return Verdict()


def read_of_cut_pdf(formats: tuple[Format, ...]) -> Extraction:
    """Return what there is of a PDF that broke off so early that nothing of it can be read."""
    return Extraction(
        markdown="",
        html="" if Format.HTML in formats else None,
        links=() if Format.LINKS in formats else None,
        images=() if Format.IMAGES in formats else None,
        is_partial=True,
        warnings=("The connection broke off, and what came of the PDF cannot be read.",),
    )


def unmade_warnings(
    page: FetchedPage, request: ScrapeRequest, *, is_parsed: bool
) -> tuple[str, ...]:
    """Say which of the formats asked for a PDF's answer lacks, and how to get those there are."""
    if not request.content.clean or not _is_pdf_file(page):
        return ()
    made = _MADE_OF_PDF if is_parsed else _SERVED_BY_FILE
    seen = _SCREENSHOTS if is_parsed and page.screenshot is not None else ()
    wishes = kept_formats(request.formats)
    lacking = [wanted for wanted in wishes if wanted not in (*made, *seen)]
    if not lacking:
        return ()
    if is_parsed:
        return (f"A PDF has no {_join(lacking)}; the file itself is kept as its raw body.",)
    told = f"The PDF is handed through as the file it is, without {_join(lacking)}."
    can_be_made = request.content.pdf_parser is None and any(x in _MADE_OF_PDF for x in lacking)
    return (f'{told} Add parsers: [{{"type": "pdf"}}] for its text.' if can_be_made else told,)


def _is_pdf_file(page: FetchedPage) -> bool:
    return page.status_code < 300 and bool(page.body) and is_pdf(page)


def _join(formats: list[Format]) -> str:
    return ", ".join(map(str, formats))
