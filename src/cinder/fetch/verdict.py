"""Verdicts: what a fetch really got, judged from the answer and the content made of it."""

from http import HTTPStatus

from cinder.model.document import Extraction, FetchedPage, Verdict, VerdictKind

NOT_MODIFIED = 304


def judge(page: FetchedPage, content: Extraction | None) -> Verdict:
    """Return the verdict on a page, with what shows it; a file has no content to judge."""
    # A 304 that was not asked for has no page to it.
    if page.status_code >= 400 or page.status_code == NOT_MODIFIED:
        return Verdict(VerdictKind.HTTP_ERROR, describe_status(page.status_code))
    if content is None:
        return Verdict() if page.body else Verdict(VerdictKind.EMPTY, "the file has no bytes")
    if content.word_count == 0:
        return Verdict(VerdictKind.EMPTY, "no text was found in the page's content")
    return Verdict()


def describe_status(status_code: int) -> str:
    """Return an HTTP status as people write it: `404 Not Found`."""
    try:
        return f"{status_code} {HTTPStatus(status_code).phrase}"
    except ValueError:
        return str(status_code)
