"""The verdict on a page: judged from the response and the content extracted from it."""

from collections.abc import Callable
from http import HTTPStatus

from cinder.models.document import Extraction, FetchedPage, FetchSource, Verdict, VerdictKind
from cinder.verdicts.blocked import find_block_signs
from cinder.verdicts.evidence import PageEvidence, has_unclosed_element
from cinder.verdicts.js_shell import find_shell_signs
from cinder.verdicts.phrases import any_phrase
from cinder.verdicts.soft_404 import find_soft_404_signs
from cinder.verdicts.walls import find_consent_signs, find_login_signs, find_paywall_signs

NOT_MODIFIED = 304

# Walls and shells have no more words than this, menus included; longer pages are not searched.
_MAX_DOUBTFUL_WORDS = 700
_SHORT_KINDS = (VerdictKind.BLOCKED, VerdictKind.JS_SHELL)
# A rendered page is complete, unless it shows next to nothing.
_MAX_WORDS_OF_RENDERED_SHELL = 3
_MIN_WORDS_WITHOUT_SCRIPTS = 100

_TAIL_BYTES = 2_000
_MAX_TAIL_LINES = 8
_JSON_TYPES = ("application/json", "application/ld+json", "application/feed+json")
_XML_ENDINGS = ("/xml", "+xml")
# Elements that HTML requires to be closed.
_CONTAINERS = (b"div", b"article", b"main", b"section")
_LOADER = any_phrase("partial", "loaders")


def judge(page: FetchedPage, content: Extraction | None) -> Verdict:
    """Return the verdict on a page, with the evidence for it; a file has no content to judge.

    Takes a tenth of a millisecond on pages with much text, some milliseconds on large pages with
    little text, and never raises.
    """
    evidence = PageEvidence(page, content)
    # A 304 to an unconditional request has no page.
    if page.status_code >= 400 or page.status_code == NOT_MODIFIED:
        status = describe_status(page.status_code)
        if sign := find_block_signs(evidence):
            return Verdict(VerdictKind.BLOCKED, f"{status}: {sign}")
        return Verdict(VerdictKind.HTTP_ERROR, status)
    if content is None:
        if page.is_cut:
            broken_off = f"the file broke off after {len(page.body)} bytes"
            return Verdict(VerdictKind.PARTIAL, broken_off)
        return Verdict() if page.body else Verdict(VerdictKind.EMPTY, "the file has no bytes")
    for kind, find_signs in _SIGNS:
        is_too_long = kind in _SHORT_KINDS and content.word_count > _MAX_DOUBTFUL_WORDS
        if not is_too_long and (sign := find_signs(evidence)):
            return Verdict(kind, sign)
    if content.word_count:
        return Verdict()
    if evidence.is_html and evidence.words > _MAX_WORDS_OF_RENDERED_SHELL:
        missed = f"none of the page's about {evidence.words} words were taken for its content"
        return Verdict(VerdictKind.EMPTY, missed)
    return Verdict(VerdictKind.EMPTY, "no text was found in the page's content")


def describe_status(status_code: int) -> str:
    """Return an HTTP status with its phrase: `404 Not Found`."""
    try:
        return f"{status_code} {HTTPStatus(status_code).phrase}"
    except ValueError:
        return str(status_code)


def find_truncation_signs(evidence: PageEvidence) -> str | None:
    """Return what shows that a response is incomplete; None if nothing does."""
    page = evidence.page
    if page.is_cut:
        return f"the answer broke off after {len(page.body)} bytes"
    if evidence.is_content_cut:
        return "a limit cost some of the content: the warnings say which"
    if page.source is not FetchSource.NATIVE:
        return None
    if not evidence.is_html:
        data = page.body.strip()
        first, last = data[:1], data[-1:]
        if page.content_type in _JSON_TYPES:
            is_cut = first in (b"{", b"[") and last not in (b"}", b"]")
        else:
            is_cut = page.content_type.endswith(_XML_ENDINGS) and first == b"<" and last != b">"
        return f"the data ends with '{data[-20:].decode('utf-8', 'replace')}'" if is_cut else None
    if sign := _sign_of_cut_html(page.body):
        return sign
    if evidence.is_long:
        return None
    lines = evidence.outline.text.splitlines()[-_MAX_TAIL_LINES:]
    loader = next((line for line in lines if _LOADER.fullmatch(line[:80].lower())), None)
    return f"the page ends with '{loader.strip()}'" if loader else None


def _sign_of_cut_html(body: bytes) -> str | None:
    tail = body[-_TAIL_BYTES:].lower()
    if not body or b"</html" in tail or b"</body" in tail:
        return None
    if has_unclosed_element(body):
        return "the HTML ends inside a script, a style or a comment"
    if tail.rfind(b"<") > tail.rfind(b">"):
        tag = tail[tail.rfind(b"<") :][:40].decode("utf-8", "replace")
        return f"the HTML ends inside a tag ('{tag}')"
    if tail.rstrip().endswith(b">"):
        return None
    for name in _CONTAINERS:
        if body.count(b"<" + name) > body.count(b"</" + name):
            return f"the HTML ends in the text of an open <{name.decode()}>"
    return None


def _find_shell_signs(evidence: PageEvidence) -> str | None:
    words = evidence.word_count
    is_rendered = evidence.page.source is not FetchSource.NATIVE
    if is_rendered and words > _MAX_WORDS_OF_RENDERED_SHELL:
        return None
    sign = find_shell_signs(evidence)
    # Some shells have their whole content in <noscript>, and then it was extracted.
    is_extracted = sign and words - evidence.words > _MIN_WORDS_WITHOUT_SCRIPTS
    return None if is_extracted else sign


# In the order in which a visitor meets them: consent is asked for before a login.
_SIGNS: tuple[tuple[VerdictKind, Callable[[PageEvidence], str | None]], ...] = (
    (VerdictKind.BLOCKED, find_block_signs),
    (VerdictKind.CONSENT_ONLY, find_consent_signs),
    (VerdictKind.LOGIN_WALL, find_login_signs),
    (VerdictKind.PARTIAL, find_truncation_signs),
    (VerdictKind.JS_SHELL, _find_shell_signs),
    (VerdictKind.SOFT_404, find_soft_404_signs),
    (VerdictKind.PAYWALL, find_paywall_signs),
)
