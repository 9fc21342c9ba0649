"""Verdicts: what a fetch really got, judged from the answer and the content made of it."""

from http import HTTPStatus

from cinder.model.document import Extraction, FetchedPage, Verdict, VerdictKind


def judge(page: FetchedPage, content: Extraction) -> Verdict:
    """Return the verdict on a page, with what shows it."""
    if page.status_code >= 400:
        return Verdict(VerdictKind.HTTP_ERROR, describe_status(page.status_code))
    if content.word_count == 0:
        return Verdict(VerdictKind.EMPTY, "the page has no text")
    return Verdict()


def describe_status(status_code: int) -> str:
    """Return an HTTP status as people write it: `404 Not Found`."""
    try:
        return f"{status_code} {HTTPStatus(status_code).phrase}"
    except ValueError:
        return str(status_code)
