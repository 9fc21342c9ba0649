"""Cues: the words by which an element tells what it is for: its tag, classes, id, roles."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[a-z]{2,}")
_MAX_CHARS = 400
_MAX_WORDS = 24
_MAX_LABEL_WORDS = 6
_MAX_VALUE_CHARS = 40
# Attributes by which scripts, tests and screen readers find an element: often the only ones that
# say anything where class names are generated.
_LABELS = ("data-testid", "data-component", "data-hook", "data-test", "aria-label")
_FURTHER = frozenset(("role", "itemprop", "itemtype", "aria-hidden", *_LABELS))


def read_cues(tag: str, attributes: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the cues of an element; `<tag>` is the first."""
    if not attributes:
        return _cues_by_name(tag, "")
    said = attributes.get
    names = f"{(said('class') or '')[:_MAX_CHARS]} {(said('id') or '')[:_MAX_CHARS]}"
    cues = _cues_by_name(tag, names)
    return cues if _FURTHER.isdisjoint(attributes) else (*cues, *_further_cues(attributes))


class CueWeights:
    """How much more, or less, of the text below each cue is content; learned from real pages."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = dict(weights)

    def extremes(self, cues: Iterable[str]) -> tuple[float, float]:
        """Return the lowest and the highest weight of the cues, 0 being that of unknown ones."""
        found = [self._weights[cue] for cue in cues if cue in self._weights]
        return (min(0.0, *found), max(0.0, *found)) if found else (0.0, 0.0)


@lru_cache(maxsize=20_000)
def _cues_by_name(tag: str, names: str) -> tuple[str, ...]:
    return (f"<{tag}>", *_split(names))


def _further_cues(attributes: Mapping[str, str | None]) -> Iterator[str]:
    said = attributes.get
    if role := said("role"):
        yield f"role={role.lower()[:_MAX_VALUE_CHARS]}"
    if name := said("itemprop"):
        yield f"itemprop={name.lower()[:_MAX_VALUE_CHARS]}"
    if kind := said("itemtype"):
        yield f"itemtype={kind.rstrip('/').rpartition('/')[2].lower()[:_MAX_VALUE_CHARS]}"
    if said("aria-hidden") == "true":
        yield "aria-hidden"
    for name in _LABELS:
        if label := said(name):
            yield from (f"{name}={word}" for word in _split(label[:_MAX_CHARS])[:_MAX_LABEL_WORDS])


def _split(names: str) -> tuple[str, ...]:
    """Return the words that names consist of, and each name of several words whole as well."""
    words = [word for name in names.split() for word in _words_of(name)]
    return tuple(dict.fromkeys(words))[:_MAX_WORDS]


@lru_cache(maxsize=20_000)
def _words_of(name: str) -> tuple[str, ...]:
    if name.isalpha() and name.islower():
        return (name,) if len(name) > 1 else ()
    parts = _WORD.findall(name if name.islower() else _CAMEL_CASE.sub("-", name).lower())
    return tuple(parts) if len(parts) < 2 else (*parts, "-".join(parts))
