"""The verdict on a fetched page: which of the signs decides."""

import re
from collections.abc import Callable
from http import HTTPStatus

from cinder.models.document import Extraction, FetchedPage, FetchSource, Verdict, VerdictKind
from cinder.verdicts.blocked import find_block_signs
from cinder.verdicts.evidence import (
    AnyPhrase,
    PageEvidence,
    estimate_words,
    has_unclosed_element,
    load_phrases,
)
from cinder.verdicts.js_shell import find_shell_signs
from cinder.verdicts.walls import find_consent_signs, find_login_signs, find_paywall_signs

_MAX_WORDS_OF_TITLE = 9
_MIN_WORDS_OF_SENTENCE = 4
_MAX_WORDS_AROUND_PHRASE = 160
_MAX_SENTENCE_BYTES = 1_200
# A page that tells at length why something was removed is a page.
_MAX_SENTENCE_BYTES_AROUND_PHRASE = 500

_TITLE = AnyPhrase("soft_404", "titles")
_SENTENCE = AnyPhrase("soft_404", "sentences")
_PARKED = AnyPhrase("soft_404", "parked")
_PARKED_STEMS = tuple(load_phrases()["soft_404"]["parked_stems"])
_PATH = AnyPhrase("soft_404", "paths")
_FRONT_PAGE = re.compile(
    r"/(?:[a-z]{2}(?:[-_][a-z]{2})?/?)?(?:(?:index|home|default)(?:\.\w{2,5})?/?)?"
)
_SEARCH = re.compile(r"[?&](?:q|s|query|search|keyword)=|/search")


def find_soft_404_signs(evidence: PageEvidence) -> str | None:
    """Return what shows that a page replaces a missing one; None if nothing does."""
    if not evidence.is_html:
        return None
    return _sign_in_address(evidence) or _sign_in_words(evidence)


def _sign_in_address(evidence: PageEvidence) -> str | None:
    if not evidence.was_redirected_elsewhere:
        return None
    path, requested = evidence.path.lower(), evidence.requested_path.lower()
    if _PATH.search(path) and not _PATH.search(requested):
        return f"the address leads to '{path[:100]}'"
    # A deep path names one item among many, not a section or the former name of a page.
    parts = [part for part in requested.split("/") if part]
    is_deep = len(parts) > 2 or (len(parts) > 1 and any("-" in part for part in parts[1:]))
    if _FRONT_PAGE.fullmatch(path) and evidence.host == evidence.requested_host and is_deep:
        return f"'{requested[:100]}' leads to the site's front page"
    return None


def _sign_in_words(evidence: PageEvidence) -> str | None:
    if evidence.is_long or _SEARCH.search(evidence.page.final_url.lower()):
        return None
    if evidence.sentence_bytes > _MAX_SENTENCE_BYTES:
        return None
    text = f"{evidence.title}\n{evidence.text}"
    parked = _PARKED.search(text) if any(stem in text for stem in _PARKED_STEMS) else None
    if parked:
        return f"the domain is unused ('{parked[0][:80]}')"
    for name in evidence.names:
        if estimate_words(name) <= _MAX_WORDS_OF_TITLE and _TITLE.fullmatch(name.strip(" .!")):
            return f"the page is called '{name[:100]}'"
    is_short = evidence.sentence_bytes <= _MAX_SENTENCE_BYTES_AROUND_PHRASE
    if not is_short or evidence.words > _MAX_WORDS_AROUND_PHRASE:
        return None
    found = _SENTENCE.search(evidence.text)
    whole = (one for one in evidence.sentences if estimate_words(one) >= _MIN_WORDS_OF_SENTENCE)
    sentence = (
        found[0] if found else next((s for s in whole if _TITLE.fullmatch(s.strip(" .!"))), None)
    )
    if sentence is None:
        return None
    return f"the page says '{sentence[:100]}', and there are about {evidence.words} words"


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
_LOADER = AnyPhrase("partial", "loaders")


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
        if page.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            return Verdict(VerdictKind.BLOCKED, status)
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
