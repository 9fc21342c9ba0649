"""Splits labels and field names into words, unifies synonyms and scores how well two agree.

The phrases and their meanings are in `synonyms.toml`.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files

from cinder.text.terms import find_terms

Words = tuple[str, ...]

_MAX_LABEL_CHARS = 200
_MAX_WORDS = 12
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")
_STOP_WORDS = frozenset(
    ("a", "an", "the", "of", "for", "in", "by", "to", "and", "is", "your", "our")
)
# Weights of a word in a comparison; all other words weigh 1.
_LIGHT = 0.3
_CONTEXT = 0.15
_PATH = 0.25
# How well a label agrees that only a field's description mentions.
_LEAST_DESCRIBED = 0.5
_DESCRIBED = 0.72


@lru_cache(maxsize=20_000)
def words_of(text: str) -> Words:
    """Return the words of a name or label, in order, synonyms in one form, no stop words."""
    return tuple(dict.fromkeys(word for meaning in _meanings(text) for word in meaning))


def words_of_any(*names: str) -> frozenset[str]:
    """Return the words of several names together."""
    return frozenset(word for name in names for word in words_of(name))


def plain_words_of(text: str) -> Words:
    """Return the words of a name, in order, with synonyms and stop words as they are."""
    return tuple(dict.fromkeys(_terms_of_name(text)))[:_MAX_WORDS]


def synonyms_of(text: str) -> Words:
    """Return the words of all other phrases with the meaning of a name; none if it is unknown."""
    found = (word for meaning in _meanings(text) for word in _OTHER_WORDS.get(meaning, ()))
    return tuple(dict.fromkeys(found))


def _terms_of_name(text: str) -> Iterator[str]:
    return find_terms(_WORD_BOUNDARY.sub(" ", text[:_MAX_LABEL_CHARS]))


def _meanings(text: str) -> Iterator[Words]:
    """Yield the meanings of the phrases in a name, in order; an unknown word is its own meaning."""
    stems = tuple(_terms_of_name(text))[:_MAX_WORDS]
    kept = _without_stop_words(stems)
    whole = _SYNONYMS.get(stems) or _SYNONYMS.get(kept)
    if whole is not None:
        yield whole
        return
    start = 0
    while start < len(kept):
        for end in range(min(start + _LONGEST, len(kept)), start, -1):
            if meaning := _SYNONYMS.get(kept[start:end]):
                yield meaning
                start = end
                break
        else:
            yield (kept[start],)
            start += 1


def _stems(phrase: str) -> Words:
    return tuple(find_terms(phrase))


def _without_stop_words(stems: Words) -> Words:
    return tuple(stem for stem in stems if stem not in _STOP_WORDS) or stems


def _index_phrases(phrases: dict[str, list[str]]) -> dict[Words, Words]:
    """Return the meaning of each phrase, also without stop words where that is unambiguous."""
    pairs = [
        (_stems(phrase), _stems(meaning))
        for meaning, others in phrases.items()
        for phrase in (meaning, *others)
    ]
    shortened: dict[Words, set[Words]] = {}
    for phrase, meaning in pairs:
        shortened.setdefault(_without_stop_words(phrase), set()).add(meaning)
    unambiguous = {
        phrase: meanings.pop()
        for phrase, meanings in shortened.items()
        if len(meanings) == 1 and len(phrase) > 1
    }
    return unambiguous | dict(pairs)


_DATA = tomllib.loads((files(__package__) / "synonyms.toml").read_text("utf-8"))
_SYNONYMS = _index_phrases(_DATA["phrases"])
_OTHER_WORDS = {
    _stems(meaning): tuple(
        dict.fromkeys(stem for phrase in others for stem in _without_stop_words(_stems(phrase)))
    )
    for meaning, others in _DATA["phrases"].items()
}
_LONGEST = max(map(len, _SYNONYMS))
_LIGHT_STEMS = frozenset(stem for word in _DATA["light_words"] for stem in find_terms(word))


def agreement(field: Words, context: Words, label: Words, path: Words = ()) -> float:
    """Return from 0 to 1 how well a label agrees with a field's name.

    Args:
        field: the words of the field's name.
        context: the words of the field's parent, which a label may leave out.
        label: the words of the label.
        path: the words of what the labelled thing belongs to.
    """
    in_field, in_label = set(field), set(label)
    in_path = set(path) - in_label
    shared = _weigh(in_field & in_label, ()) + _weigh(in_field & in_path, ())
    if not shared:
        return 0.0
    lacking = _weigh(in_field - in_label - in_path, context)
    extra = _weigh(in_label - in_field, context)
    foreign = sum(_PATH for word in in_path - in_field - set(context) if word not in _LIGHT_STEMS)
    return shared / (shared + lacking + extra + min(foreign, 2 * _PATH))


def described(description: Words, label: Words) -> float:
    """Return how well a label agrees with the description of a field."""
    telling = [word for word in label if word not in _LIGHT_STEMS]
    if not telling or not set(telling) <= set(description):
        return 0.0
    head = next(word for word in description if word not in _LIGHT_STEMS)
    return _DESCRIBED if head in telling else _LEAST_DESCRIBED


def is_light(word: str) -> bool:
    """Whether a word says little on its own: a unit, a filler."""
    return word in _LIGHT_STEMS


def _weigh(words: Iterable[str], context: Words) -> float:
    return sum(
        _CONTEXT if word in context else _LIGHT if word in _LIGHT_STEMS else 1.0 for word in words
    )
