"""How alike two texts are, by the words they share."""

import re

_WORD = re.compile(r"\w+")


def text_similarity(a: str, b: str) -> float:
    """Return the Jaccard similarity of the two texts' word sets; 0.0 when both are empty."""
    words_a, words_b = _words(a), _words(b)
    union = words_a | words_b
    return len(words_a & words_b) / len(union) if union else 0.0


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
