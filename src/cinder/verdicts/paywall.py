"""Paywalls: pages that show the beginning of the content and sell the rest.

A page that is for sale and yet is there in full is a page like others.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from cinder.models.document import Json
from cinder.verdicts.evidence import PageEvidence, is_sentence, read_text
from cinder.verdicts.phrases import Phrases, any_of

_MAX_THINGS = 50
_MAX_PARTS = 20
# What a page shows that says it is not free, and no more: no longer than a teaser.
_MAX_TEASER_BYTES = 1_200
_MAX_WORDS_OF_TEASER = 250
# After the sentence that stops the reader come offers, not the rest of the story.
_MAX_BYTES_AFTER_PHRASE = 600
_MIN_WORDS_OF_PAID_PART = 80
_PART_BYTES = 6_000

_JOIN = r"(?:subscribe|sign up|sign in|register|log in|join|become a member)"
_TEXT = r"(?:article|story|post|report|issue|text)"
# That the rest is kept for those who pay.
_KEPT_BACK = Phrases(
    (
        *("subscri", "member", "reading", "free article", " to read", "article limit"),
        *("lesen", "abonn", "suscri", "leyendo", "assin", "lendo", "abbonat", "lezen"),
        *("subskry", "prenumer", "czyta", "läs", "læs", "lese", "подпис"),
        *("会員", "有料", "続き", "付费", "订阅", "訂閱", "유료", "구독"),
    ),
    rf"{_JOIN}(?: \w+){{0,4}}? to (?:continue|keep|finish) reading(?! and get)",
    rf"{_JOIN}(?: \w+){{0,4}}? to (?:read|unlock|access) (?:the |this )?"
    rf"(?:full|whole|rest|entire|{_TEXT})",
    rf"to (?:continue|keep) reading,? (?:please |you |this {_TEXT})|to keep reading\b(?! and get)",
    rf"continue reading (?:this {_TEXT} )?(?:with|for free)",
    rf"to (?:read|view|access|unlock) (?:the (?:full|rest of the|complete|whole)|this) {_TEXT},? "
    rf"(?:please )?{_JOIN}",
    r"(?:create|open) an? (?:\w+ )?account to (?:read|continue)",
    rf"(?:{_TEXT}|content|page) is (?:only )?(?:for|available to|reserved for|exclusive(?:ly)? "
    r"(?:to|for|available to)) (?:our )?(?:\w+ )?(?:subscribers|members)",
    r"\bsubscribers?[ -]only\b|member[ -]only story|for (?:paid|paying) (?:subscribers|members)",
    r"reached (?:your|the)(?: \w+){0,4} (?:limit|free articles)|limit of free articles",
    r"weiterlesen mit|(?:exklusiv|nur) für (?:unsere )?(?:\w+ )?(?:abonnent|plus-leser)",
    r"mit (?:einem )?\S{1,20}(?:abo|plus|\+) (?:weiterlesen|lesen)|um (?:\w+ ){0,4}weiterzulesen",
    r"réservée? (?:aux|à nos) abonnés|abonnez-vous pour (?:lire|continuer|accéder)",
    r"reste .{1,12} de cet article|lire la suite en (?:vous |s.)abonnant",
    r"(?:exclusiv[oa]|sol[oa]|sólo) para (?:nuestros )?(?:suscriptores|socios)",
    r"suscríb(?:ete|ase) para (?:seguir|continuar|leer)|para seguir leyendo",
    r"(?:exclusiv[oa]|só|apenas) para assinantes|assine para (?:continuar|ler)",
    r"para continuar (?:a )?lendo|riservat[oai] agli abbonati|abbonati per (?:continuare|leggere)",
    r"(?:alleen|exclusief) voor abonnees|om (?:verder|door) te lezen|lees verder met",
    r"(?:tylko|wyłącznie) dla (?:subskrybentów|prenumeratorów)|aby czytać dalej|czytaj dalej z",
    r"(?:endast|bara) för prenumeranter|(?:kun|bare) for abonnenter",
    r"för att (?:fortsätta )?läsa|for å lese videre|for at læse videre",
    r"(?:доступ\w*|только) (?:\w+ ){0,3}(?:подписчик|по подписке)|оформите подписку",
    r"会員限定|有料(?:会員|記事)|続きを(?:お読み|読むには)",
    r"(?:付费|訂閱|订阅)(?:阅读|后|用户|內容|内容)|(?:유료|구독)(?:회원|자)? ?(?:전용|만)",
)
# What stands beside it, and on other pages too.
_OFFERED = any_of(
    r"already (?:a|have a) (?:paid )?(?:subscri|member)|bereits (?:ein )?abo|déjà abonné",
    r"ya (?:soy|eres) suscriptor|já (?:é|sou) assinante|già abbonato|al abonnee",
)
_WALL_NAME = re.compile(
    rb"(?i)\s(?:class|id)\s*=\s*[\"'][^\"'<>]{0,200}?(pay-?wall|reg-?wall|tp-container|"
    rb"premium-?(?:wall|gate)|article-?(?:gate|barrier))"
)


def find_paywall_signs(reading: PageEvidence) -> str | None:
    """Return what shows that a page is a teaser for what is sold; None if nothing does."""
    if not reading.is_html:
        return None
    if reading.is_long:
        return _sign_among_much_else(reading)
    if phrase := _phrase_at_end(reading):
        return f"the page says '{phrase}', and there are about {reading.words} words"
    if reading.sentence_bytes > _MAX_TEASER_BYTES:
        return None
    is_offered = _OFFERED.search(reading.text) is not None
    if is_offered and (name := _WALL_NAME.search(reading.outline.markup)):
        return f"the page has a '{name[1].decode()}' and about {reading.words} words"
    if _is_sold(reading) and not _has_paid_part(reading):
        return f"the page says that it is not free to read and has about {reading.words} words"
    return None


def _sign_among_much_else(reading: PageEvidence) -> str | None:
    """Return the sign of a teaser on a page that is full of other things, as newspapers' are."""
    if not 0 < reading.word_count <= _MAX_WORDS_OF_TEASER or not _is_sold(reading):
        return None
    found = _KEPT_BACK.find_last(reading.text)
    if found is None:
        return None
    words = reading.word_count
    return f"the page says '{found[0][:100]}', and its content has {words} words"


def _phrase_at_end(reading: PageEvidence) -> str | None:
    """Return what says that the rest is kept back, if not much is read after it."""
    found = _KEPT_BACK.find_last(reading.text)
    if found is None:
        return None
    is_short = reading.sentence_bytes <= _MAX_TEASER_BYTES
    is_at_end = is_short or _sentence_bytes_after(reading, found.end()) <= _MAX_BYTES_AFTER_PHRASE
    return found[0][:100] if is_at_end else None


def _sentence_bytes_after(reading: PageEvidence, end: int) -> int:
    """Return how much text in sentences comes after a place in the page's text."""
    size = place = 0
    for line in reading.outline.text.splitlines():
        place += len(line) + 1
        if place - len(line) > end and is_sentence(line):
            size += len(line.encode())
    return size


def _is_sold(reading: PageEvidence) -> bool:
    return any(_is_false(thing.get("isAccessibleForFree")) for thing in _things(reading))


def _has_paid_part(reading: PageEvidence) -> bool:
    """Whether the part that the page names as paid is there all the same."""
    markup = reading.outline.markup
    for name in islice(_names_of_paid_parts(reading), _MAX_PARTS):
        start = markup.find(name.encode())
        part = markup[start : start + _PART_BYTES] if start >= 0 else b""
        if len(read_text(part).split()) >= _MIN_WORDS_OF_PAID_PART:
            return True
    return False


def _names_of_paid_parts(reading: PageEvidence) -> Iterator[str]:
    for thing in _things(reading):
        parts = thing.get("hasPart")
        for part in parts if isinstance(parts, list | tuple) else (parts,):
            selector = part.get("cssSelector") if isinstance(part, Mapping) else None
            if isinstance(selector, str) and selector.strip(" .#"):
                yield selector.strip(" .#")


def _things(reading: PageEvidence) -> Iterator[Mapping[str, Json]]:
    things = islice(reading.metadata.json_ld, _MAX_THINGS)
    return (thing for thing in things if isinstance(thing, Mapping))


def _is_false(value: Json) -> bool:
    return value is False or (isinstance(value, str) and value.strip().lower() == "false")
