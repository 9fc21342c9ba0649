"""Selectors of style sheets: which can be looked up, and what the element they mean is called."""

import re
from collections.abc import Iterator

_MAX_SELECTOR = 300
_SIMPLE = re.compile(r"[a-zA-Z0-9]{0,20}([.#][\w-]{1,100})")
_BRACKETED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_COMBINATOR = re.compile(r"\s*[>+~]\s*|\s+")
_NAME = re.compile(r"[.#\[][\w-]{1,100}")
_TAG = re.compile(r"[a-zA-Z][\w-]{0,50}")
_BARE = re.compile(r"[a-zA-Z][\w-]{0,50}|\*")
# What is so whatever a visitor does; all else (`:hover`, `::before`) is a state or another thing.
_PSEUDO = re.compile(r"::?[\w-]+")
_LASTING = frozenset(
    (
        *(":not", ":is", ":where", ":has", ":root", ":empty", ":first-child", ":last-child"),
        *(":only-child", ":first-of-type", ":last-of-type", ":only-of-type", ":nth-child"),
        *(":nth-last-child", ":nth-of-type", ":nth-last-of-type", ":any-link", ":link"),
    )
)
_OUTERMOST = re.compile(r"(?:(?:html|body|:root)\s+)*(?:html|body|:root|\*)?", re.IGNORECASE)


def split_selectors(selectors: str) -> Iterator[str]:
    """Yield the selectors of a list, each without white space around it."""
    if "(" not in selectors and "[" not in selectors:
        yield from map(str.strip, selectors.split(","))
        return
    depth = start = 0
    for mark in re.finditer(r"[(\[)\],]", selectors):
        if mark[0] in "([":
            depth += 1
        elif mark[0] in ")]":
            depth -= 1
        elif depth <= 0:
            yield selectors[start : mark.start()].strip()
            start = mark.end()
    yield selectors[start:].strip()


def simple_name(selector: str) -> str | None:
    """Return the class or the id, with its mark, that a selector is all of."""
    found = _SIMPLE.fullmatch(selector)
    return found[1] if found else None


def can_be_looked_up(selector: str) -> bool:
    """Whether a selector means the same elements whatever a visitor does, and not all of them."""
    if not 0 < len(selector) <= _MAX_SELECTOR or _OUTERMOST.fullmatch(selector):
        return False
    if ":" not in selector:
        return True
    return all(found.lower() in _LASTING for found in _PSEUDO.findall(selector))


def subject_names(selector: str) -> frozenset[str]:
    """Return what names the elements that a selector means: classes, ids, attributes, or a tag."""
    bare = _BRACKETED.sub(_without_inside, selector)
    subject = _COMBINATOR.split(bare.strip())[-1]
    if names := _NAME.findall(subject):
        return frozenset(names)
    tag = _TAG.match(subject)
    return frozenset((tag[0].lower() if tag else "*",))


class NamesWanted:
    """Tells which of some names, and of some tags, selectors speak of."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        tags = sorted(name for name in names if name[0] not in ".#[")
        # A star is the subject of selectors that end in a state alone.
        self._tags = re.compile(rf"(?<![\w.#-])(?:{'|'.join(map(re.escape, tags))})(?![\w-])")
        self._has_tags = bool(tags)

    def spoken_of(self, selectors: str) -> set[str]:
        """Return the names that selectors hold, and the tags that they mean without a name.

        A rule for all elements of a tag, whatever they are called, takes back no other rule.
        """
        found = self._names.intersection(_NAME.findall(selectors))
        if not self._has_tags or not self._tags.search(selectors):
            return set(found)
        for selector in split_selectors(selectors):
            if not _BARE.fullmatch(selector):
                found |= self._names & subject_names(selector)
        return set(found)


def _without_inside(found: re.Match[str]) -> str:
    if found[0][0] == "(":
        return ""
    return found[0].replace(">", "").replace("~", "").replace("+", "").replace(" ", "")
