"""Bot walls: answers that keep a machine out instead of giving it the page.

Only strong marks count. A wall shows little text, so an article about walls is not one; a form that
is guarded by a captcha is a page; and a bare 403 is an error like others.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import islice

from cinder.fetch.verdicts.block_marks import (
    HEADERS,
    HEADERS_OF_REFUSALS,
    MARKS_BY_VENDOR,
    MARKS_OF_BARE_WALLS,
    REFUSAL_BESIDE_MARK,
    REFUSALS,
)
from cinder.fetch.verdicts.block_phrases import (
    HALF_SIGNS,
    NAME_OF_A_GATE,
    OF_VISITOR,
    SAID_AT_A_CHECK,
    SAID_AT_A_GATE,
    SAID_BESIDE_NAME_OF_GATE,
    SAID_OF_MACHINES,
    SAID_TO_A_VISITOR,
    SAID_WITH_A_REFUSAL,
    SAID_WITH_AN_ERROR,
    UNUSUAL,
)
from cinder.fetch.verdicts.reading import Reading
from cinder.model.document import FetchedPage

_MAX_SEARCHED_BYTES = 100_000
# Walls explain themselves in a few paragraphs at most.
_MAX_SENTENCE_BYTES = 2_500
_MAX_TEXT_BYTES = 4_000
_MAX_WORDS_AROUND_PHRASE = 150
_MAX_WORDS_OF_GATE = 60
_MAX_WORDS_AROUND_CAPTCHA = 40
_MAX_WORDS_OF_NAME = 5
_MAX_WORDS_OF_BARE_WALL = 15
_REACH_CHARS = 60
_MAX_PHRASES = 20
# A wall leads nowhere: a page with menus is a site's own.
_MAX_LINKS = 12
_MAX_LINKS_OF_GATE = 6
# A page that is not there is not kept back, nor is one that the law keeps from everybody.
_ABSENT = (404, 410, 451)
_UNAVAILABLE = 503
_UNAUTHORIZED = 401

# A header of a guard that this has no name for, and what it says of a request that it stopped.
_GUARDING_HEADER = re.compile(r"waf|bot|captcha|mitigat|challenge|shield")
_STOPPED = ("challenge", "captcha", "block", "blocked", "deny", "denied")

_CAPTCHA = re.compile(
    rb"(?i)\s(?:class|id)\s*=\s*[\"']?[^\"'<>]{0,100}?"
    rb"(?<![a-z])((?:[a-z]{0,20}[-_]?)captcha|cf-turnstile)"
)
_FIELD = re.compile(
    rb"(?i)<textarea|<select[\s>]|<input(?![^<>]{0,500}(?:captcha|\stype\s*=\s*[\"']?"
    rb"(?:hidden|submit|button|checkbox|image)))"
)
_REFRESH_TO_GATE = re.compile(
    rb"(?i)<meta\s[^<>]{0,100}http-equiv\s*=\s*[\"']?refresh[^<>]{0,300}(captcha|challenge)"
)
_PATH_OF_GATE = re.compile(r"(?i)captcha|/challenge|/sorry/|/(?:access-?)?(?:blocked|denied)\b")


def find_block_signs(reading: Reading) -> str | None:
    """Return what shows that an answer is a bot wall; None if nothing does.

    Costs a quarter of a millisecond on most pages, and never raises.
    """
    page = reading.page
    if page.status_code in _ABSENT:
        return None
    if sign := _sign_in_headers(page):
        return sign
    if not _may_be_wall(reading):
        return None
    start = page.body[:_MAX_SEARCHED_BYTES]
    if sign := _sign_in_marks(start, MARKS_BY_VENDOR):
        return sign
    bare = _sign_in_marks(start, MARKS_OF_BARE_WALLS)
    is_bare = bare is not None and reading.words <= _MAX_WORDS_OF_BARE_WALL
    return bare if is_bare else _sign_of_no_vendor(reading)


def _sign_in_headers(page: FetchedPage) -> str | None:
    is_refusal = page.status_code in REFUSALS
    for name, values, vendor in HEADERS + (HEADERS_OF_REFUSALS if is_refusal else ()):
        if name in page.headers and any(value in page.headers[name] for value in values):
            return f"the answer is {vendor}'s bot wall (header {name}: {page.headers[name][:60]})"
    for name, value in page.headers.items():
        if value.lower() in _STOPPED and _GUARDING_HEADER.search(name):
            return f"the answer is a bot wall's (header {name[:60]}: {value})"
    return None


def _may_be_wall(reading: Reading) -> bool:
    if not reading.is_html:
        return reading.page.status_code >= 400
    return not reading.text_amount.exceeds(_MAX_SENTENCE_BYTES, _MAX_TEXT_BYTES)


def _sign_in_marks(start: bytes, marks_by_vendor: Mapping[str, Sequence[bytes]]) -> str | None:
    for vendor, marks in marks_by_vendor.items():
        for mark in marks:
            if mark in start and REFUSAL_BESIDE_MARK.get(vendor, mark) in start:
                return f"the page is {vendor}'s bot wall ('{mark.decode()}')"
    return None


def _sign_of_no_vendor(reading: Reading) -> str | None:
    """Return the sign of a wall that no vendor's mark tells: what it says, or a lone captcha."""
    outline, words = reading.outline, reading.words
    links = outline.markup.count(b"<a ")
    if words > _MAX_WORDS_AROUND_PHRASE or links > _MAX_LINKS or _FIELD.search(outline.markup):
        return None
    if reading.was_led_elsewhere and (gate := _PATH_OF_GATE.search(reading.path)):
        return f"the address leads to '{gate[0]}', and there are about {words} words"
    if phrase := _find_phrase(reading):
        return f"the page says '{phrase}', and there are about {words} words"
    if refresh := _REFRESH_TO_GATE.search(outline.markup):
        return f"the page leads on to a {refresh[1].decode().lower()}"
    captcha = _CAPTCHA.search(outline.markup)
    if captcha and words <= _MAX_WORDS_AROUND_CAPTCHA:
        return f"the page holds a captcha ({captcha[1].decode()}) and about {words} words"
    return None


def _find_phrase(reading: Reading) -> str | None:
    """Return what a page says that only walls say in so few words, given its status."""
    text = f"{reading.title}\n{reading.text}"
    is_error = reading.page.status_code >= 400
    if phrase := _first(SAID_OF_MACHINES, text) if is_error else _said_to_visitor(reading, text):
        return phrase
    if reading.outline.markup.count(b"<a ") > _MAX_LINKS_OF_GATE:
        return None
    if is_error:
        return _first(_pattern_for(reading.page.status_code), text)
    return _name_of_gate(reading) if reading.words <= _MAX_WORDS_OF_GATE else None


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[0] if found else None


def _said_to_visitor(reading: Reading, text: str) -> str | None:
    """Return what a page under a status of success says to a visitor whom it keeps out.

    Of bots, of people and of suspicious activity pages speak as well: that counts where it is the
    visitor's own, or where a second sign stands beside it.
    """
    if phrase := _first(SAID_TO_A_VISITOR, text):
        return phrase
    for unusual in islice(UNUSUAL.finditer(text), _MAX_PHRASES):
        start = max(0, unusual.start() - _REACH_CHARS)
        if OF_VISITOR.search(text, start, unusual.end() + _REACH_CHARS):
            return unusual[0]
    halves = [phrase for half in HALF_SIGNS if (phrase := _first(half, text))]
    is_enough = len(halves) > 1 or (halves and _CAPTCHA.search(reading.outline.markup))
    return halves[0] if is_enough else None


def _pattern_for(status_code: int) -> re.Pattern[str]:
    """Return what a wall says with an error; a server in trouble says much of it as well."""
    if status_code == _UNAUTHORIZED:
        return SAID_AT_A_CHECK
    is_trouble = status_code >= 500 and status_code != _UNAVAILABLE
    return SAID_WITH_AN_ERROR if is_trouble else SAID_WITH_A_REFUSAL


def _name_of_gate(reading: Reading) -> str | None:
    for name in reading.names:
        if SAID_AT_A_GATE.search(name):
            return name[:100]
        is_short = len(name.split()) <= _MAX_WORDS_OF_NAME
        if is_short and NAME_OF_A_GATE.search(name) and _speaks_as_gate(reading):
            return name[:100]
    return None


def _speaks_as_gate(reading: Reading) -> bool:
    has_captcha = _CAPTCHA.search(reading.outline.markup) is not None
    return has_captcha or SAID_BESIDE_NAME_OF_GATE.search(reading.text) is not None
