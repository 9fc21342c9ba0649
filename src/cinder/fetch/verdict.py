"""Verdicts: what a fetch really got, judged from the answer and the content made of it."""

from http import HTTPStatus

from cinder.fetch.blocked import find_block_signs
from cinder.fetch.js_shell import find_shell_signs
from cinder.model.document import Extraction, FetchedPage, Source, Verdict, VerdictKind

NOT_MODIFIED = 304

# Walls and shells are no longer than this with all their menus; longer pages are not looked into.
_MAX_DOUBTFUL_WORDS = 700
# What a browser has rendered is what there is, unless that is next to nothing.
_MAX_WORDS_OF_RENDERED_SHELL = 3


def judge(page: FetchedPage, content: Extraction | None) -> Verdict:
    """Return the verdict on a page, with what shows it; a file has no content to judge."""
    # A 304 that was not asked for has no page to it.
    if page.status_code >= 400 or page.status_code == NOT_MODIFIED:
        return _judge_error(page)
    if content is None:
        return Verdict() if page.body else Verdict(VerdictKind.EMPTY, "the file has no bytes")
    if content.word_count > _MAX_DOUBTFUL_WORDS:
        return Verdict()
    return _judge_short_page(page, content.word_count)


def describe_status(status_code: int) -> str:
    """Return an HTTP status as people write it: `404 Not Found`."""
    try:
        return f"{status_code} {HTTPStatus(status_code).phrase}"
    except ValueError:
        return str(status_code)


def _judge_error(page: FetchedPage) -> Verdict:
    if sign := find_block_signs(page):
        return Verdict(VerdictKind.BLOCKED, f"{describe_status(page.status_code)}: {sign}")
    return Verdict(VerdictKind.HTTP_ERROR, describe_status(page.status_code))


def _judge_short_page(page: FetchedPage, word_count: int) -> Verdict:
    if sign := find_block_signs(page):
        return Verdict(VerdictKind.BLOCKED, sign)
    may_be_shell = page.source is Source.NATIVE or word_count <= _MAX_WORDS_OF_RENDERED_SHELL
    if may_be_shell and (sign := find_shell_signs(page)):
        return Verdict(VerdictKind.JS_SHELL, sign)
    if word_count == 0:
        return Verdict(VerdictKind.EMPTY, "no text was found in the page's content")
    return Verdict()
