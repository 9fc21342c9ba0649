"""The words of a label or of a field's name, synonyms made one, and how well two of them agree."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from cinder.extract.fields.synonyms import LIGHT_WORDS, PHRASES
from cinder.extract.reading.terms import find_terms

Words = tuple[str, ...]

_MAX_LABEL_CHARS = 200
_MAX_WORDS = 12
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")
_STOP_WORDS = frozenset(
    ("a", "an", "the", "of", "for", "in", "by", "to", "and", "is", "your", "our")
)
_LIGHT = 0.3
_CONTEXT = 0.15
_PATH = 0.25
_LEAST_DESCRIBED = 0.5
_DESCRIBED = 0.72


@lru_cache(maxsize=20_000)
def words_of(text: str) -> Words:
    """Return the words of a name or label, in order, synonyms in one form, no stop words."""
    apart = _HUMP.sub(" ", text[:_MAX_LABEL_CHARS])
    stems = list(find_terms(apart))[:_MAX_WORDS]
    kept = [stem for stem in stems if stem not in _STOP_WORDS] or stems
    return tuple(dict.fromkeys(_unified(kept, stems)))


def plain_words_of(text: str) -> Words:
    """Return the words of a name, in order, each as it is."""
    return tuple(dict.fromkeys(find_terms(_HUMP.sub(" ", text[:_MAX_LABEL_CHARS]))))[:_MAX_WORDS]


def synonyms_of(text: str) -> Words:
    """Return the words of what else a page may call what a name means; nothing if unknown."""
    apart = _HUMP.sub(" ", text[:_MAX_LABEL_CHARS])
    stems = list(find_terms(apart))[:_MAX_WORDS]
    kept = [stem for stem in stems if stem not in _STOP_WORDS] or stems
    found = (word for meant in _meanings(kept, stems) for word in _OTHER_WORDS.get(meant, ()))
    return tuple(dict.fromkeys(found))


def _unified(kept: list[str], stems: list[str]) -> Iterator[str]:
    for meant in _meanings(kept, stems):
        yield from meant


def _meanings(kept: list[str], stems: list[str]) -> Iterator[Words]:
    """Yield what the phrases of a name mean, in order; an unknown word means itself."""
    whole = _SYNONYMS.get(tuple(stems)) or _SYNONYMS.get(tuple(kept))
    if whole is not None:
        yield whole
        return
    place = 0
    while place < len(kept):
        for length in range(min(_LONGEST, len(kept) - place), 0, -1):
            meant = _SYNONYMS.get(tuple(kept[place : place + length]))
            if meant is not None:
                yield meant
                place += length
                break
        else:
            yield (kept[place],)
            place += 1


def _stems(phrase: str) -> Words:
    return tuple(find_terms(phrase))


def _without_stop_words(stems: Words) -> Words:
    return tuple(stem for stem in stems if stem not in _STOP_WORDS) or stems


def _read_phrases() -> dict[Words, Words]:
    """Return what each phrase means; one without its stop words only where that is no other's."""
    said = [
        (_stems(phrase), _stems(meaning))
        for meaning, phrases in PHRASES.items()
        for phrase in (meaning, *phrases.split("|"))
    ]
    shortened: dict[Words, set[Words]] = {}
    for phrase, meant in said:
        shortened.setdefault(_without_stop_words(phrase), set()).add(meant)
    plain = {
        phrase: meant.pop()
        for phrase, meant in shortened.items()
        if len(meant) == 1 and len(phrase) > 1
    }
    return plain | dict(said)


def _read_other_words() -> dict[Words, Words]:
    """Return the words of all the phrases for each meaning."""
    return {
        _stems(meaning): tuple(
            dict.fromkeys(
                stem
                for phrase in phrases.split("|")
                for stem in _without_stop_words(_stems(phrase))
            )
        )
        for meaning, phrases in PHRASES.items()
    }


_SYNONYMS = _read_phrases()
_OTHER_WORDS = _read_other_words()
_LONGEST = max(map(len, _SYNONYMS))
_LIGHT_STEMS = frozenset(stem for word in LIGHT_WORDS for stem in find_terms(word))


def agreement(field: Words, context: Words, label: Words, path: Words = ()) -> float:
    """Return from 0 to 1 how well a label agrees with a field's name.

    Args:
        field: the words of the field's name.
        context: the words of what the field belongs to, which a label may leave out.
        label: the words of the label.
        path: the words of what the labelled thing belongs to.
    """
    wanted, said = set(field), set(label)
    beside = set(path) - said
    shared = _weigh(wanted & said, ()) + _weigh(wanted & beside, ())
    if not shared:
        return 0.0
    lacking = _weigh(wanted - said - beside, context)
    beyond = _weigh(said - wanted, context)
    aside = sum(_PATH for word in beside - wanted - set(context) if word not in _LIGHT_STEMS)
    return shared / (shared + lacking + beyond + min(aside, 2 * _PATH))


def described(description: Words, label: Words) -> float:
    """Return how well a label agrees with what a field's description says of it."""
    telling = [word for word in label if word not in _LIGHT_STEMS]
    if not telling or not set(telling) <= set(description):
        return 0.0
    head = next(word for word in description if word not in _LIGHT_STEMS)
    return _DESCRIBED if head in telling else _LEAST_DESCRIBED


def is_light(word: str) -> bool:
    """Whether a word says little: a unit, a filler."""
    return word in _LIGHT_STEMS


def _weigh(words: Iterable[str], context: Words) -> float:
    weights = (
        _CONTEXT if word in context else _LIGHT if word in _LIGHT_STEMS else 1.0 for word in words
    )
    return sum(weights)
