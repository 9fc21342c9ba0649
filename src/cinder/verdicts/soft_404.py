"""Soft 404s: pages with a success status that say the requested content does not exist."""

import re

from cinder.verdicts.evidence import PageEvidence
from cinder.verdicts.phrases import any_phrase, load_phrases

_MAX_WORDS_OF_TITLE = 9
_MIN_WORDS_OF_SENTENCE = 4
_MAX_WORDS_AROUND_PHRASE = 160
_MAX_SENTENCE_BYTES = 1_200

_TITLE = any_phrase("soft_404", "titles")
_SENTENCE = any_phrase("soft_404", "sentences")
_PARKED = any_phrase("soft_404", "parked")
_PARKED_STEMS = tuple(load_phrases()["soft_404"]["parked_stems"])
_PATH = any_phrase("soft_404", "paths")
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
        if len(name.split()) <= _MAX_WORDS_OF_TITLE and _TITLE.fullmatch(name.strip(" .!")):
            return f"the page is called '{name[:100]}'"
    if evidence.words > _MAX_WORDS_AROUND_PHRASE:
        return None
    found = _SENTENCE.search(evidence.text)
    whole = (one for one in evidence.sentences if len(one.split()) >= _MIN_WORDS_OF_SENTENCE)
    sentence = (
        found[0] if found else next((s for s in whole if _TITLE.fullmatch(s.strip(" .!"))), None)
    )
    if sentence is None:
        return None
    return f"the page says '{sentence[:100]}', and there are about {evidence.words} words"
