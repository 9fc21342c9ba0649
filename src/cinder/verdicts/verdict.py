"""The verdict on a page: judged from the response and the content extracted from it."""

from collections.abc import Callable
from http import HTTPStatus

from cinder.models.document import Extraction, FetchedPage, FetchSource, Verdict, VerdictKind
from cinder.verdicts.blocked import find_block_signs
from cinder.verdicts.consent import find_consent_signs
from cinder.verdicts.evidence import PageEvidence
from cinder.verdicts.js_shell import find_shell_signs
from cinder.verdicts.login_wall import find_login_signs
from cinder.verdicts.partial import find_truncation_signs
from cinder.verdicts.paywall import find_paywall_signs
from cinder.verdicts.soft_404 import find_soft_404_signs

NOT_MODIFIED = 304

# Walls and shells are no longer than this with all their menus; longer pages are not looked into.
_MAX_DOUBTFUL_WORDS = 700
# What a browser has rendered is what there is, unless that is next to nothing.
_MAX_WORDS_OF_RENDERED_SHELL = 3
_MIN_WORDS_WITHOUT_SCRIPTS = 100


def judge(page: FetchedPage, content: Extraction | None) -> Verdict:
    """Return the verdict on a page, with what shows it; a file has no content to judge.

    Costs a tenth of a millisecond where there is much to read, some milliseconds on large pages
    with little text, and never raises.
    """
    reading = PageEvidence(page, content)
    # A 304 that was not asked for has no page to it.
    if page.status_code >= 400 or page.status_code == NOT_MODIFIED:
        return _judge_error(reading)
    if content is None:
        return _judge_file(page)
    for kind, find_signs in _SIGNS:
        if sign := find_signs(reading):
            return Verdict(kind, sign)
    if content.word_count == 0:
        return Verdict(VerdictKind.EMPTY, _describe_emptiness(reading))
    return Verdict()


def describe_status(status_code: int) -> str:
    """Return an HTTP status as people write it: `404 Not Found`."""
    try:
        return f"{status_code} {HTTPStatus(status_code).phrase}"
    except ValueError:
        return str(status_code)


def _describe_emptiness(reading: PageEvidence) -> str:
    if reading.is_html and reading.words > _MAX_WORDS_OF_RENDERED_SHELL:
        return f"none of the page's about {reading.words} words were taken for its content"
    return "no text was found in the page's content"


def _judge_error(reading: PageEvidence) -> Verdict:
    status = describe_status(reading.page.status_code)
    if sign := find_block_signs(reading):
        return Verdict(VerdictKind.BLOCKED, f"{status}: {sign}")
    return Verdict(VerdictKind.HTTP_ERROR, status)


def _judge_file(page: FetchedPage) -> Verdict:
    if page.is_cut:
        return Verdict(VerdictKind.PARTIAL, f"the file broke off after {len(page.body)} bytes")
    return Verdict() if page.body else Verdict(VerdictKind.EMPTY, "the file has no bytes")


def _find_wall_signs(reading: PageEvidence) -> str | None:
    return None if reading.word_count > _MAX_DOUBTFUL_WORDS else find_block_signs(reading)


def _find_shell_signs(reading: PageEvidence) -> str | None:
    words = reading.word_count
    may_be_shell = (
        reading.page.source is FetchSource.NATIVE or words <= _MAX_WORDS_OF_RENDERED_SHELL
    )
    if words > _MAX_DOUBTFUL_WORDS or not may_be_shell:
        return None
    sign = find_shell_signs(reading)
    # Some shells bring all they have to say in their <noscript>, and then it is there.
    has_more_than_shows = sign and words - reading.words > _MIN_WORDS_WITHOUT_SCRIPTS
    return None if has_more_than_shows else sign


# In the order in which a page has to be got past: consent is asked for before a login is.
_SIGNS: tuple[tuple[VerdictKind, Callable[[PageEvidence], str | None]], ...] = (
    (VerdictKind.BLOCKED, _find_wall_signs),
    (VerdictKind.CONSENT_ONLY, find_consent_signs),
    (VerdictKind.LOGIN_WALL, find_login_signs),
    (VerdictKind.PARTIAL, find_truncation_signs),
    (VerdictKind.JS_SHELL, _find_shell_signs),
    (VerdictKind.SOFT_404, find_soft_404_signs),
    (VerdictKind.PAYWALL, find_paywall_signs),
)
