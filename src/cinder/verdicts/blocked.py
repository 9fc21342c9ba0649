"""Bot walls: responses that keep programs out instead of returning the page.

Only strong signs count. A wall shows little text, so an article about walls is not one; a page
whose form has a captcha is a page; a bare 403 is an ordinary error.
"""

import re
from itertools import islice

from cinder.models.document import FetchedPage
from cinder.verdicts.evidence import AnyPhrase, PageEvidence, estimate_words, load_phrases

_VOCABULARY = load_phrases()["bot_wall"]
# Plain strings: one pattern for all of them takes thirty times as long.
_VENDOR_MARKS = {
    kind: [
        (vendor, mark.encode(), _VOCABULARY["required_text"].get(vendor, mark).encode())
        for vendor, marks in _VOCABULARY[kind].items()
        for mark in marks
    ]
    for kind in ("vendor_marks", "bare_page_marks", "refusal_marks")
}
# Some large sites answer automated clients with 999, a status of their own.
_ONLY_FOR_PROGRAMS = 999
_REFUSALS = (401, 403, 405, 406, 418, 429, 503, _ONLY_FOR_PROGRAMS)

_TO_A_PROGRAM = AnyPhrase("bot_wall", "human", "unusual", "stopped")
_TO_A_VISITOR = AnyPhrase("bot_wall", "asked_of_visitor", "stopped")
_AT_A_CHECK = AnyPhrase("bot_wall", "checking", "check_names")
_WITH_A_REFUSAL = AnyPhrase("bot_wall", "refused", "checking", "check_names", "firewall")
_WITH_A_SERVER_ERROR = re.compile(
    r"(?:request|page)(?: (?:was|is|has been))? (?:blocked|rejected)\b"
)
_SURE_TITLE = AnyPhrase("bot_wall", "checking", "refused")
_POSSIBLE_TITLE = AnyPhrase("bot_wall", "titles", "too_often", "check_names")
_NEAR_TITLE = AnyPhrase("bot_wall", "near_title", "of_visitor", "checking")
_UNUSUAL = AnyPhrase("bot_wall", "unusual")
_OF_VISITOR = AnyPhrase("bot_wall", "of_visitor")
# Ordinary pages use phrases of one of these; two of them on one short page mean a wall.
_HALF_SIGNS = (AnyPhrase("bot_wall", "human"), _UNUSUAL, _AT_A_CHECK)

_MAX_SEARCHED_BYTES = 100_000
# Walls explain themselves in a few paragraphs at most.
_MAX_SENTENCE_BYTES = 2_500
_MAX_TEXT_BYTES = 4_000
_MAX_WORDS_AROUND_PHRASE = 150
_MAX_WORDS_BELOW_TITLE = 60
_MAX_WORDS_AROUND_CAPTCHA = 40
_MAX_WORDS_OF_TITLE = 5
_MAX_WORDS_OF_BARE_WALL = 15
_MAX_WORDS_OF_REFUSAL = 60
_REACH_CHARS = 60
_MAX_PHRASES = 20
# A wall has hardly any links: a page with menus belongs to the site itself.
_MAX_LINKS = 12
_MAX_LINKS_BELOW_TITLE = 6
# A page that does not exist is not blocked, nor is one that is withheld for legal reasons.
_ABSENT = (404, 410, 451)

# Headers of bot protection without a known vendor, and their values for a blocked request.
_PROTECTION_HEADER = re.compile(r"waf|bot|captcha|mitigat|challenge|shield")
_BLOCKING_VALUES = ("challenge", "captcha", "block", "blocked", "deny", "denied")

_CAPTCHA = re.compile(
    rb"(?i)\s(?:class|id)\s*=\s*[\"']?[^\"'<>]{0,100}?"
    rb"(?<![a-z])((?:[a-z]{0,20}[-_]?)captcha|cf-turnstile)"
)
_CAPTCHA_FRAME = re.compile(
    rb"(?i)<i?frame\s[^<>]{0,500}?\s(?:src|title)\s*=\s*[\"']?[^\"'<>]{0,300}?(captcha|challenge)"
)
_FIELD = re.compile(
    rb"(?i)<textarea|<select[\s>]|<input(?![^<>]{0,500}(?:captcha|\stype\s*=\s*[\"']?"
    rb"(?:hidden|submit|button|checkbox|image)))"
)
_REFRESH_TO_WALL = re.compile(
    rb"(?i)<meta\s[^<>]{0,100}http-equiv\s*=\s*[\"']?refresh[^<>]{0,300}(captcha|challenge)"
)
_PATH_OF_WALL = re.compile(r"(?i)captcha|/challenge|/sorry/|/(?:access-?)?(?:blocked|denied)\b")


def find_block_signs(evidence: PageEvidence) -> str | None:
    """Return what shows that a response is a bot wall; None if nothing does.

    Takes a quarter of a millisecond on most pages, and never raises.
    """
    page = evidence.page
    if page.status_code in _ABSENT:
        return None
    if sign := _sign_in_headers(page):
        return sign
    if page.status_code == _ONLY_FOR_PROGRAMS:
        return "the status 999 is for automated clients"
    if evidence.is_html:
        is_page = evidence.text_amount.exceeds(_MAX_SENTENCE_BYTES, _MAX_TEXT_BYTES)
    else:
        is_page = page.status_code < 400
    if is_page:
        return None
    return (
        _sign_in_marks(page, "vendor_marks")
        or _sign_on_bare_page(evidence)
        or _sign_without_vendor(evidence)
    )


def _sign_on_bare_page(evidence: PageEvidence) -> str | None:
    """Return what shows that a page with hardly any text is a wall."""
    page, markup = evidence.page, evidence.outline.markup
    if evidence.words <= _MAX_WORDS_OF_BARE_WALL:
        if sign := _sign_in_marks(page, "bare_page_marks"):
            return sign
        if frame := _CAPTCHA_FRAME.search(markup):
            return f"the page is a frame with a {frame[1].decode().lower()}"
    is_refusal = page.status_code in _REFUSALS and evidence.words <= _MAX_WORDS_OF_REFUSAL
    if not is_refusal or _FIELD.search(markup):
        return None
    return _sign_in_marks(page, "refusal_marks") or _sign_in_headers(page, "bare_refusal_headers")


def _sign_in_headers(page: FetchedPage, *kinds: str) -> str | None:
    if not kinds:
        is_refusal = page.status_code in _REFUSALS
        kinds = ("headers", "refusal_headers") if is_refusal else ("headers",)
    for kind in kinds:
        for name, wall in _VOCABULARY[kind].items():
            value = page.headers.get(name)
            if value is not None and any(part in value for part in wall["values"]):
                return f"the answer is {wall['vendor']}'s bot wall (header {name}: {value[:60]})"
    for name, value in page.headers.items():
        if value.lower() in _BLOCKING_VALUES and _PROTECTION_HEADER.search(name):
            return f"the answer is a bot wall's (header {name[:60]}: {value})"
    return None


def _sign_in_marks(page: FetchedPage, kind: str) -> str | None:
    start = page.body[:_MAX_SEARCHED_BYTES]
    for vendor, mark, required in _VENDOR_MARKS[kind]:
        if mark in start and required in start:
            return f"the page is {vendor}'s bot wall ('{mark.decode()}')"
    return None


def _sign_without_vendor(evidence: PageEvidence) -> str | None:
    """Return the sign of a wall without a vendor's mark: a phrase or a captcha on its own."""
    markup, words = evidence.outline.markup, evidence.words
    links = markup.count(b"<a ")
    if words > _MAX_WORDS_AROUND_PHRASE or links > _MAX_LINKS or _FIELD.search(markup):
        return None
    if evidence.was_redirected_elsewhere and (found := _PATH_OF_WALL.search(evidence.path)):
        return f"the address leads to '{found[0]}', and there are about {words} words"
    if phrase := _find_phrase(evidence):
        return f"the page says '{phrase}', and there are about {words} words"
    if refresh := _REFRESH_TO_WALL.search(markup):
        return f"the page leads on to a {refresh[1].decode().lower()}"
    captcha = _CAPTCHA.search(markup)
    if captcha and words <= _MAX_WORDS_AROUND_CAPTCHA:
        return f"the page holds a captcha ({captcha[1].decode()}) and about {words} words"
    return None


def _find_phrase(evidence: PageEvidence) -> str | None:
    """Return a phrase that, with this status and so few words, only walls use."""
    text, status = f"{evidence.title}\n{evidence.text}", evidence.page.status_code
    is_error = status >= 400
    phrase = _first(_TO_A_PROGRAM, text) if is_error else _find_phrase_to_visitor(evidence, text)
    if phrase or evidence.outline.markup.count(b"<a ") > _MAX_LINKS_BELOW_TITLE:
        return phrase
    if not is_error:
        is_short = evidence.words <= _MAX_WORDS_BELOW_TITLE
        return _find_title(evidence) if is_short else None
    # A server with a problem of its own uses many of the phrases of a refusal.
    if status == 401:
        return _first(_AT_A_CHECK, text)
    is_server_error = status >= 500 and status != 503
    return _first(_WITH_A_SERVER_ERROR if is_server_error else _WITH_A_REFUSAL, text)


def _first(pattern: AnyPhrase | re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[0] if found else None


def _find_phrase_to_visitor(evidence: PageEvidence, text: str) -> str | None:
    """Return what a page with a success status says to a visitor that it blocks.

    Ordinary pages mention bots, people and suspicious activity too: such a phrase counts if it is
    about the visitor, or together with a second sign.
    """
    if phrase := _first(_TO_A_VISITOR, text):
        return phrase
    for unusual in islice(_UNUSUAL.finditer(text), _MAX_PHRASES):
        start = max(0, unusual.start() - _REACH_CHARS)
        if _OF_VISITOR.search(text, start, unusual.end() + _REACH_CHARS):
            return unusual[0]
    halves = [phrase for half in _HALF_SIGNS if (phrase := _first(half, text))]
    is_enough = len(halves) > 1 or (halves and _CAPTCHA.search(evidence.outline.markup))
    return halves[0] if is_enough else None


def _find_title(evidence: PageEvidence) -> str | None:
    """Return a title or heading that only walls have."""
    for name in evidence.names:
        if _SURE_TITLE.search(name):
            return name[:100]
        is_short = estimate_words(name) <= _MAX_WORDS_OF_TITLE
        if not is_short or not _POSSIBLE_TITLE.search(name):
            continue
        if _CAPTCHA.search(evidence.outline.markup) or _NEAR_TITLE.search(evidence.text):
            return name[:100]
    return None
