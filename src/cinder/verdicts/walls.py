"""Consent walls, age gates, login walls and paywalls: a request in place of the content."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from cinder.models.document import Json
from cinder.verdicts.evidence import (
    AnyPhrase,
    PageEvidence,
    estimate_words,
    find_last_phrase,
    is_sentence,
    load_phrases,
    read_text,
)

_MAX_CONSENT_WORDS = 700
_MAX_OTHER_WORDS = 70
_MIN_SHARE = 0.6
_MIN_WORDS_OF_QUESTION = 5
_MAX_BUTTON_CHARS = 80

_CONSENT_ADDRESS = AnyPhrase("consent", "addresses")
_CONSENT_TOPICS = tuple(load_phrases()["consent"]["topics"])
_CONSENT_TITLE = AnyPhrase("consent", "titles")
_ACCEPT = AnyPhrase("consent", "accept")
_CHOICE = AnyPhrase("consent", "choices")
_BUTTON_VALUE = re.compile(
    rb"(?i)<input(?=[^<>]{0,500}\stype\s*=\s*[\"']?(?:submit|button))[^<>]{0,500}?"
    rb"\svalue\s*=\s*[\"']([^\"'<>]{1,80})"
)


def find_consent_signs(evidence: PageEvidence) -> str | None:
    """Return what shows that a page only asks for consent or for an age; None if nothing does.

    A page with a consent banner also shows other text, so it is not a consent wall.
    """
    if not evidence.is_html or evidence.is_long or evidence.words > _MAX_CONSENT_WORDS:
        return None
    buttons = _read_buttons(evidence)
    if sign := _find_age_question(evidence, buttons):
        return sign
    button = next(filter(_ACCEPT.fullmatch, buttons), None)
    if button is None:
        return None
    sentences = evidence.sentences
    about = [one for one in sentences if any(topic in one for topic in _CONSENT_TOPICS)]
    address = f"{evidence.host}{evidence.path}".lower()
    is_led_there = evidence.was_redirected_elsewhere or _CONSENT_ADDRESS.search(evidence.host)
    if about and is_led_there and _CONSENT_ADDRESS.search(address):
        return f"the address leads to a question for consent ({evidence.path[:100]})"
    is_asked = any(estimate_words(sentence) >= _MIN_WORDS_OF_QUESTION for sentence in about)
    title = next(filter(_CONSENT_TITLE.fullmatch, evidence.names), None)
    if is_asked and title and any(map(_CHOICE.fullmatch, buttons)):
        return f"the page is called '{title[:100]}' and asks for consent ('{button}')"
    other_words = sum(map(estimate_words, set(sentences) - set(about)))
    total = max(1, sum(len(sentence.encode()) for sentence in sentences))
    share = sum(len(sentence.encode()) for sentence in about) / total
    if is_asked and other_words <= _MAX_OTHER_WORDS and share >= _MIN_SHARE:
        return f"the page asks for consent ('{button}') and shows little else"
    return None


def _read_buttons(evidence: PageEvidence) -> list[str]:
    """Return the short lines of a page, which its buttons are among, in lower case."""
    lines = (line.strip() for line in evidence.outline.text.lower().splitlines())
    values = _BUTTON_VALUE.findall(evidence.outline.markup)
    short = [line for line in lines if len(line) <= _MAX_BUTTON_CHARS]
    return [*short, *(read_text(value).lower() for value in values)]


_MAX_WORDS_OF_AGE_GATE = 160
_MAX_SENTENCE_BYTES_OF_AGE_GATE = 900
_MAX_LINKS_OF_AGE_GATE = 20
_AGE_QUESTION = AnyPhrase("age", "questions")
_AGE_ANSWER = AnyPhrase("age", "answers")


def _find_age_question(evidence: PageEvidence, buttons: Iterable[str]) -> str | None:
    if (
        evidence.words > _MAX_WORDS_OF_AGE_GATE
        or evidence.sentence_bytes > _MAX_SENTENCE_BYTES_OF_AGE_GATE
        or evidence.outline.markup.count(b"<a ") > _MAX_LINKS_OF_AGE_GATE
    ):
        return None
    question = _AGE_QUESTION.search(f"{evidence.title}\n{evidence.text}")
    answer = next(filter(_AGE_ANSWER.fullmatch, buttons), None) if question else None
    return (
        f"the page asks for an age ('{question[0]}', '{answer}')" if question and answer else None
    )


_MAX_LOGIN_WORDS = 260
_MAX_WORDS_AROUND_BUTTONS = 110
_MAX_WORDS_AROUND_BUTTON = 30
_MAX_WORDS_AROUND_OFFERS = 160
_MAX_SENTENCE_BYTES_AROUND_OFFERS = 500
# Next to a form: the terms, a line about registering, a link for lost passwords.
_MAX_OTHER_SENTENCE_BYTES = 250
_MAX_WORDS_OF_TITLE = 6
_FORM_BYTES = 4_000

_PASSWORD = re.compile(rb"(?i)<input(?=[\s/])[^<>]{0,500}\stype\s*=\s*[\"']?password\b")
_INPUT = re.compile(rb"(?i)<input(?=[\s/])[^<>]{0,800}>?")
_UNTYPED = re.compile(
    rb"(?i)\stype\s*=\s*[\"']?(?:hidden|submit|button|image|checkbox|radio|search|reset|file)"
)
_USER_FIELD = re.compile(
    rb"(?i)\s(?:type\s*=\s*[\"']?email|autocomplete\s*=\s*[\"']?[^\"'<>]{0,40}username|"
    rb"(?:name|id)\s*=\s*[\"']?[^\"'<>\s]{0,60}(?:%b))"
    % "|".join(load_phrases()["login"]["user_fields"]).encode()
)
_MAX_INPUTS = 50
# Some applications have an invisible form for password managers.
_HIDDEN = re.compile(rb"(?i)display\s*:\s*none|\shidden[\s=>]")
_LOGIN_PATH = AnyPhrase("login", "paths")
_LOGIN_HOST = AnyPhrase("login", "hosts")
_LOGIN_TITLE = AnyPhrase("login", "titles")
_PLEA = AnyPhrase("login", "pleas")
_LOGIN_BUTTON = AnyPhrase("login", "buttons")
_ACCOUNT_OFFER = AnyPhrase("login", "account_offers")


def find_login_signs(evidence: PageEvidence) -> str | None:
    """Return what shows that a page only asks the visitor to log in; None if nothing does.

    Many pages have a login form; it is a wall only on a page with little else.
    """
    if not evidence.is_html or evidence.is_long or evidence.words > _MAX_LOGIN_WORDS:
        return None
    has_form = _has_login_form(evidence.outline.markup)
    plea = _PLEA.search(evidence.text)
    is_redirect = _leads_to_login(evidence)
    short = (name for name in evidence.names if estimate_words(name) <= _MAX_WORDS_OF_TITLE)
    title = next((name for name in short if _LOGIN_TITLE.search(name)), None)
    is_bare = evidence.sentence_bytes <= _MAX_OTHER_SENTENCE_BYTES
    is_short = is_bare and evidence.words <= _MAX_WORDS_AROUND_BUTTONS
    if is_redirect and (has_form or title or plea or (is_short and evidence.words)):
        return f"the address leads to a login page ({evidence.path[:100]})"
    if has_form and plea:
        return f"the page says '{plea[0][:100]}' and has a form to log in"
    if has_form and is_bare and title:
        return f"the page is called '{title}' and has a form to log in"
    if has_form and is_short and evidence.words:
        return f"the page has a form to log in and about {evidence.words} words"
    return _sign_in_form_with_offers(
        evidence, has_form=has_form, title=title
    ) or _login_sign_without_form(evidence, plea or _PLEA.search(evidence.title))


def _sign_in_form_with_offers(
    evidence: PageEvidence, *, has_form: bool, title: str | None
) -> str | None:
    """Return the sign of a form with what belongs to one: lost passwords, other accounts."""
    if (
        evidence.words > _MAX_WORDS_AROUND_OFFERS
        or evidence.sentence_bytes > _MAX_SENTENCE_BYTES_AROUND_OFFERS
    ):
        return None
    offer = _ACCOUNT_OFFER.search(evidence.text)
    if has_form and offer:
        return f"the page has a form to log in ('{offer[0]}')"
    if not title:
        return None
    # A page whose only field is for a user name asks for the password later.
    inputs = islice(_INPUT.finditer(evidence.outline.markup), _MAX_INPUTS)
    fields = [field[0] for field in inputs if not _UNTYPED.search(field[0])]
    is_asking = offer or (len(fields) == 1 and _USER_FIELD.search(fields[0]))
    return f"the page is called '{title}' and asks who the visitor is" if is_asking else None


def _has_login_form(markup: bytes) -> bool:
    field = _PASSWORD.search(markup)
    if field is None:
        return False
    before = markup[max(0, field.start() - _FORM_BYTES) : field.start()]
    form = before[max(0, before.lower().rfind(b"<form")) :]
    return not _HIDDEN.search(form.partition(b">")[0] + b">")


def _leads_to_login(evidence: PageEvidence) -> bool:
    """Whether a redirect led to the address of a login page from another address."""
    if not evidence.was_redirected_elsewhere:
        return False
    requested, final = (
        bool(_LOGIN_PATH.search(path.lower()) or _LOGIN_HOST.search(host))
        for host, path in (
            (evidence.requested_host, evidence.requested_path),
            (evidence.host, evidence.path),
        )
    )
    return final and not requested


def _login_sign_without_form(evidence: PageEvidence, plea: re.Match[str] | None) -> str | None:
    if plea:
        pleas = (sentence for sentence in evidence.sentences if _PLEA.search(sentence))
        other_bytes = evidence.sentence_bytes - sum(len(sentence.encode()) for sentence in pleas)
        if other_bytes <= _MAX_OTHER_SENTENCE_BYTES:
            return f"the page says '{plea[0][:100]}', and there are about {evidence.words} words"
    is_bare = evidence.sentence_bytes <= _MAX_OTHER_SENTENCE_BYTES
    if not is_bare or evidence.words > _MAX_WORDS_AROUND_BUTTONS:
        return None
    button = next(filter(_LOGIN_BUTTON.fullmatch, _read_buttons(evidence)), None)
    if button and evidence.words <= _MAX_WORDS_AROUND_BUTTON:
        return f"the page only has a way to log in ('{button}')"
    offers = {offer[0] for offer in _ACCOUNT_OFFER.finditer(evidence.text)}
    return f"the page only offers accounts ('{min(offers)}')" if len(offers) > 1 else None


_MAX_ITEMS = 50
_MAX_PARTS = 20
# A page that is marked as not free and shows no more text than this is a teaser.
_MAX_TEASER_BYTES = 1_200
_MAX_WORDS_OF_TEASER = 250
# After the sentence that stops the reader come offers, not the rest of the article.
_MAX_BYTES_AFTER_PHRASE = 600
_MIN_WORDS_OF_PAID_PART = 80
_PART_BYTES = 6_000

_PAYWALL_STEMS = tuple(load_phrases()["paywall"]["stems"])
_PAYWALL_PHRASE = AnyPhrase("paywall", "phrases")
_PAYWALL_OFFER = AnyPhrase("paywall", "offers")
_PAYWALL_NAME = re.compile(
    rb"(?i)\s(?:class|id)\s*=\s*[\"'][^\"'<>]{0,200}?(pay-?wall|reg-?wall|tp-container|"
    rb"premium-?(?:wall|gate)|article-?(?:gate|barrier))"
)


def find_paywall_signs(evidence: PageEvidence) -> str | None:
    """Return what shows that a page is only a teaser of paid content; None if nothing does.

    A page that is for sale but complete is an ordinary page.
    """
    if not evidence.is_html:
        return None
    if evidence.is_long:
        # Newspapers surround a teaser with much other text.
        is_teaser = 0 < evidence.word_count <= _MAX_WORDS_OF_TEASER and _is_sold(evidence)
        if not is_teaser:
            return None
    found = find_last_phrase(evidence.text, _PAYWALL_STEMS, _PAYWALL_PHRASE)
    if evidence.is_long:
        if found is None:
            return None
        return f"the page says '{found[0][:100]}', and its content has {evidence.word_count} words"
    words = evidence.words
    is_short = evidence.sentence_bytes <= _MAX_TEASER_BYTES
    if found and (is_short or _bytes_after(evidence, found.end()) <= _MAX_BYTES_AFTER_PHRASE):
        return f"the page says '{found[0][:100]}', and there are about {words} words"
    if not is_short:
        return None
    is_offered = _PAYWALL_OFFER.search(evidence.text) is not None
    if is_offered and (name := _PAYWALL_NAME.search(evidence.outline.markup)):
        return f"the page has a '{name[1].decode()}' and about {words} words"
    if _is_sold(evidence) and not _has_paid_part(evidence):
        return f"the page says that it is not free to read and has about {words} words"
    return None


def _bytes_after(evidence: PageEvidence, end: int) -> int:
    """Return how much text in sentences follows a position in the page's text."""
    size = position = 0
    for line in evidence.outline.text.splitlines():
        position += len(line) + 1
        if position - len(line) > end and is_sentence(line):
            size += len(line.encode())
    return size


def _linked_data(evidence: PageEvidence) -> Iterator[Mapping[str, Json]]:
    items = islice(evidence.metadata.json_ld, _MAX_ITEMS)
    return (item for item in items if isinstance(item, Mapping))


def _is_sold(evidence: PageEvidence) -> bool:
    values = (item.get("isAccessibleForFree") for item in _linked_data(evidence))
    return any(
        value is False or (isinstance(value, str) and value.strip().lower() == "false")
        for value in values
    )


def _has_paid_part(evidence: PageEvidence) -> bool:
    """Whether the part that linked data marks as paid is in the page nevertheless."""
    names: list[str] = []
    for item in _linked_data(evidence):
        parts = item.get("hasPart")
        for part in parts if isinstance(parts, list | tuple) else (parts,):
            selector = part.get("cssSelector") if isinstance(part, Mapping) else None
            if isinstance(selector, str) and selector.strip(" .#"):
                names.append(selector.strip(" .#"))
    markup = evidence.outline.markup
    for name in names[:_MAX_PARTS]:
        start = markup.find(name.encode())
        part = markup[start : start + _PART_BYTES] if start >= 0 else b""
        if estimate_words(read_text(part)) >= _MIN_WORDS_OF_PAID_PART:
            return True
    return False
