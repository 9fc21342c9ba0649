"""The title of a page: its heading, or its `<title>` without the name of the site."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Separates a page's name from its site's; a hyphen or colon without spaces belongs to the name.
_SEPARATOR = re.compile(r"\s+[-|\u2013—·•»\u203a«:~/]+\s+|\s?[|»\u203a]\s?")
# The share of words that a heading must have in common with another title of the page to be its
# title. It is less than half: a heading may be worded quite differently.
_MIN_AGREEMENT = 0.3
_MIN_NAME_CHARS = 4
_WORD = re.compile(r"\w+")
_NOT_LETTERS = re.compile(r"[\W_]+")
_LOWERED = bytes(range(256)).lower()
_NOT_ASCII_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())
# The signs that documentation puts after a heading as a link to it.
_TRAILING_MARKS = "¶#§🔗 "
_SOFT_HYPHEN = "\u00ad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Titles:
    """All titles that a page declares; those that it does not are empty."""

    element: str
    """The text of `<title>`."""
    shared: str
    """The title for sharing: `og:title`."""
    headings: Sequence[str]
    """The texts of the page's `h1` elements, without banners where it has others."""
    subheadings: Iterable[str]
    """The texts of its `h2` and `h3` elements: read only where no `h1` is its title."""
    headlines: Sequence[str]
    """The headlines of its JSON-LD."""
    site_names: frozenset[str]
    """The names of the site, and those in its host, as `name_key` returns them."""


def choose_title(titles: Titles) -> str:
    """Return the title to cite the page by, or an empty text."""
    named = without_site_name(titles.element, titles.site_names)
    shared = without_site_name(titles.shared, titles.site_names)
    headings = [
        heading
        for each in titles.headings
        if (heading := _tidy(each)) and name_key(heading) not in titles.site_names
    ]
    references = [each for each in (named, shared, *titles.headlines[:1]) if each]
    # A part of `Settings — Django documentation` may be a heading by itself.
    references += _SEPARATOR.split(named)[:-1]
    # The last of equals: the heading of a site comes before that of its page.
    best = max(
        reversed(headings), key=lambda heading: title_agreement(heading, references), default=""
    )
    if best and (not references or title_agreement(best, references) >= _MIN_AGREEMENT):
        return best
    # `Where is it? / Questions` is the title of a thread that has only the first part as heading.
    parts = _SEPARATOR.split(named)[:-1]
    shown = {name_key(each) for each in titles.subheadings} if parts else set()
    return next((part for part in parts if name_key(part) in shown), shared or named or best)


def without_site_name(title: str, site_names: frozenset[str]) -> str:
    """Return a title without the parts at its ends that name the site."""
    title = _tidy(title)
    cuts = [(found.start(), found.end()) for found in _SEPARATOR.finditer(title)]
    if not cuts:
        return title
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(title)]
    first, last = 0, len(starts) - 1
    while first < last and _names_site(title[starts[last] : ends[last]], site_names):
        last -= 1
    if last == len(starts) - 1 and _names_site(title[: ends[0]], site_names):
        first = 1
    elif last == len(starts) - 1 and "|" in title[cuts[-1][0] : cuts[-1][1]]:
        # The text after a vertical bar is nearly always the site, even where it is not known.
        last -= 1
    return title[starts[first] : ends[last]]


def title_agreement(heading: str, references: Iterable[str]) -> float:
    """Return the share of words that a heading has in common with the most similar reference."""
    words = _words(heading)
    shares = (
        2 * len(words & other) / (len(words) + len(other))
        for other in map(_words, references)
        if words and other
    )
    return max(shares, default=0.0)


def name_key(name: str) -> str:
    """Return only the letters and digits of a name, for comparison."""
    if name.isascii():
        # Most names are, and most of them are headings of a page.
        return name.encode().translate(_LOWERED, _NOT_ASCII_LETTERS).decode()
    return _NOT_LETTERS.sub("", unicodedata.normalize("NFKC", name).casefold())


def site_name_keys(names: Iterable[str | None], host: str) -> frozenset[str]:
    """Return the names of a site, and those in its host, as `name_key` returns them."""
    host = host.removeprefix("www.")
    return frozenset(
        filter(None, (name_key(each or "") for each in (*names, host, *host.split(".")[:-1])))
    )


def _names_site(part: str, site_names: frozenset[str]) -> bool:
    key = name_key(part)
    if key in site_names or not key:
        return True
    if len(key) < _MIN_NAME_CHARS:
        return False
    return any(
        key in name or (name in key and 2 * len(name) >= len(key))
        for name in site_names
        if len(name) >= _MIN_NAME_CHARS
    )


def _tidy(title: str) -> str:
    return title.replace(_SOFT_HYPHEN, "").rstrip(_TRAILING_MARKS).strip()


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
