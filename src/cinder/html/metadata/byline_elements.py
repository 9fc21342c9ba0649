"""Elements whose markup names an author or a date, and the text around a heading."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from itertools import count, islice, takewhile

from selectolax.lexbor import LexborNode

from cinder.html.tree import Elements, collapse

_MAX_ELEMENTS = 150
_MAX_ANCESTORS = 12
# So many marked elements next to the heading, with no other between, are surely the page's own.
_MAX_NEAR_BEFORE = 3
_MAX_NEAR_BEHIND = 6
_MAX_CLASS_CHARS = 300

_HEADINGS = frozenset(("h1", "h2"))
# The others are common web components: what a script writes into them is how long ago it was, and
# an attribute says when.
_TIME_TAGS = frozenset(("time", "relative-time", "time-ago"))
_NEVER_MARKED = frozenset(
    ("html", "body", "main", "article", "input", "form", "link", "meta", "img", "button", "figure")
)
_MARKING_WORDS = ("author", "byline", "username", "date", "publish")
_WORD_SPLIT = re.compile(r"(?<=[a-z])(?=[A-Z])|[\W_]+")
_AUTHOR_WORDS = frozenset(("author", "authors", "byline", "bylines", "username"))
_BYLINE_WORDS = frozenset(("byline", "bylines", "authors"))
_NAME_WORDS = frozenset(("name", "names", "link", "vcard", "fn"))
_DATE_WORDS = frozenset(("date", "dates", "time", "timestamp", "datetime", "published", "posted"))
_PUBLISHED_WORDS = frozenset(("published", "publish", "posted", "created", "pub"))
_MODIFIED_WORDS = frozenset(
    ("updated", "update", "modified", "modify", "changed", "edited", "revised", "reviewed")
)
_PICTURE_WORDS = frozenset(("avatar", "image", "img", "photo", "picture", "icon", "bio", "social"))
# Where people speak who did not write the page.
_FOREIGN_WORDS = frozenset(
    (
        *("comment", "comments", "reply", "replies", "testimonial", "testimonials", "quote"),
        *("review", "reviews"),
    )
)
# Where other pages are named, unless it is the page's own head.
_DOUBTFUL_WORDS = frozenset(
    (
        *("related", "recommended", "recommendations", "popular", "trending", "similar", "latest"),
        *("recent", "newsletter", "sidebar", "footer", "carousel", "menu", "nav", "teaser"),
        *("teasers", "card", "cards", "promo", "event", "events", "slider"),
    )
)
_DOUBTFUL_TAGS = frozenset(("footer", "nav", "aside"))
_DOUBTFUL_RANK = 3


class ElementRole(Enum):
    """What a marked element holds."""

    AUTHOR = "author"
    PUBLISHED = "published"
    MODIFIED = "modified"


@dataclass(frozen=True, slots=True)
class MarkedElement:
    """A marked element; the lower its rank, the surer the mark."""

    element: LexborNode
    role: ElementRole
    rank: int
    is_near: bool
    """Whether it stands next to the page's heading."""

    def looks_like(self, other: "MarkedElement") -> bool:
        """Whether both are marked in the same way, as the elements of a list are."""
        one, two = self.element, other.element
        return (
            self.rank == other.rank
            and one.tag == two.tag
            and one.attributes.get("class") == two.attributes.get("class")
        )


class MarkedElements:
    """The marked elements of a page, looked for when first asked for."""

    def __init__(self, elements: Elements, heading: LexborNode | None) -> None:
        self._elements = elements
        self._heading_id = heading.mem_id if heading is not None else None

    def of(self, role: ElementRole) -> list[MarkedElement]:
        """Return those of a role, the surest first, then those next to the heading first."""
        return [mark for mark in self._marks if mark.role is role]

    @cached_property
    def _marks(self) -> list[MarkedElement]:
        elements = self._elements.nodes(_find_marked(self._elements)[:_MAX_ELEMENTS])
        doubts: dict[int, int | None] = {}
        places = _places(elements, self._heading_id)
        found = [
            (mark.rank, place, mark)
            for element, place in zip(elements, places, strict=True)
            for mark in _marks_of(element, doubts, is_near=place in _NEAR)
            # What is far above the heading is today's date, or that of another page.
            if place is not _Place.BEFORE or mark.role is ElementRole.AUTHOR or mark.rank <= 0
        ]
        found.sort(key=lambda each: (each[0], each[1].value))
        return [mark for *_, mark in found]


def _find_marked(elements: Elements) -> list[int]:
    """Return where headings stand, and what may be marked as an author or a date."""
    places = set(elements.tagged(*_HEADINGS, *_TIME_TAGS))
    places.update(elements.classed(_marking_classes(elements)))
    for place in elements.having("rel", "itemprop"):
        attributes = elements.attributes(place)
        itemprop = attributes.get("itemprop") or ""
        said = (*(attributes.get("rel") or "").lower().split(), *itemprop.split())
        if "author" in said or itemprop.startswith("date"):
            places.add(place)
    for place in elements.tagged("a"):
        if "/author" in (elements.attributes(place).get("href") or ""):
            places.add(place)
    return sorted(places)


def _marking_classes(elements: Elements) -> set[str]:
    everything = " ".join(elements.classes).lower()
    words = [word for word in _MARKING_WORDS if word in everything]
    if not words:
        return set()
    return {names for names in elements.classes if any(word in names.lower() for word in words)}


class _Place(Enum):
    """Where an element stands, the likeliest place for the page's own marks first."""

    NEXT = 0
    JUST_BEFORE = 1
    BEHIND = 2
    BEFORE = 3


_NEAR = (_Place.NEXT, _Place.JUST_BEFORE)


def _places(elements: Sequence[LexborNode], heading_id: int | None) -> list[_Place]:
    """Return where each element stands, seen from the page's heading."""
    ids = [element.mem_id for element in elements]
    if heading_id not in ids:
        return [_Place.BEHIND] * len(ids)
    heading = ids.index(heading_id)
    places = [_Place.BEFORE] * heading + [_Place.BEHIND] * (len(ids) - heading)
    before = range(heading - 1, max(heading - _MAX_NEAR_BEFORE, 0) - 1, -1)
    behind = range(heading + 1, min(heading + _MAX_NEAR_BEHIND + 1, len(ids)))
    for positions, place in ((before, _Place.JUST_BEFORE), (behind, _Place.NEXT)):
        for position in takewhile(lambda each: elements[each].tag not in _HEADINGS, positions):
            places[position] = place
    return places


def _marks_of(
    element: LexborNode, doubts: dict[int, int | None], *, is_near: bool
) -> Iterator[MarkedElement]:
    if element.tag in _NEVER_MARKED or element.tag in _HEADINGS:
        return
    words = _words_of(element)
    author = _author_rank(element, words)
    date = _date_rank(element, words)
    if author is None and date is None:
        return
    doubt = _doubt(element.parent, doubts, _MAX_ANCESTORS)
    if words & _FOREIGN_WORDS or doubt is None:
        return
    if is_near:
        doubt = 0
    if author is not None and not (doubt and author):
        yield MarkedElement(element, ElementRole.AUTHOR, author + doubt, is_near)
    if date is not None and not doubt:
        role, rank = _date_role(element, words, date)
        yield MarkedElement(element, role, rank, is_near)


def _date_role(element: LexborNode, words: frozenset[str], rank: int) -> tuple[ElementRole, int]:
    """Return what a date is the date of, and its rank, which is better where that is said."""
    around = words | (_words_of(element.parent) if element.parent is not None else frozenset())
    is_modified = "dateModified" in (element.attributes.get("itemprop") or "") or (
        around & _MODIFIED_WORDS and not around & {"published", "posted"}
    )
    role = ElementRole.MODIFIED if is_modified else ElementRole.PUBLISHED
    return role, rank - bool(around & _PUBLISHED_WORDS)


def _author_rank(element: LexborNode, words: frozenset[str]) -> int | None:
    attributes = element.attributes
    if "author" in (attributes.get("itemprop") or "").split():
        return 0
    if "author" in (attributes.get("rel") or "").split():
        return 0
    if words & _PICTURE_WORDS:
        return None
    if words & _AUTHOR_WORDS:
        # A byline holds more than the name.
        return 2 if words & _NAME_WORDS else 3 + bool(words & _BYLINE_WORDS)
    return 3 if element.tag == "a" and "/author" in (attributes.get("href") or "") else None


def _date_rank(element: LexborNode, words: frozenset[str]) -> int | None:
    itemprop = element.attributes.get("itemprop") or ""
    if itemprop in ("datePublished", "dateCreated", "dateModified"):
        return 0
    if element.tag in _TIME_TAGS:
        return 2
    return 4 if words & _DATE_WORDS else None


def _doubt(
    node: LexborNode | None, doubts: dict[int, int | None], ancestors_left: int
) -> int | None:
    """Return what its place takes from an element's rank; None where it speaks of another page.

    Args:
        node: what holds the element.
        doubts: what was found out about nodes before, as elements share their ancestors.
        ancestors_left: how far up one looks.
    """
    if node is None or not ancestors_left or node.tag in ("body", "main"):
        return 0
    if node.mem_id not in doubts:
        words = _words_of(node)
        above = _doubt(node.parent, doubts, ancestors_left - 1)
        is_doubtful = node.tag in _DOUBTFUL_TAGS or bool(words & _DOUBTFUL_WORDS)
        own = _DOUBTFUL_RANK if is_doubtful else above
        doubts[node.mem_id] = None if above is None or words & _FOREIGN_WORDS else own
    return doubts[node.mem_id]


def _words_of(element: LexborNode) -> frozenset[str]:
    """Return the words that an element's classes, id and property are made of."""
    attributes = element.attributes
    said = filter(None, (attributes.get("itemprop"), attributes.get("id"), attributes.get("class")))
    return _words_in(" ".join(said)[:_MAX_CLASS_CHARS])


# A page repeats its classes, and a site's pages share them.
@lru_cache(maxsize=512)
def _words_in(names: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD_SPLIT.split(names))


_MAX_NODES_AFTER = 160
_MAX_NODES_BEFORE = 60
_MAX_NODES_WITHIN = 80
_MAX_TEXT_CHARS = 200
_NOT_TEXT = frozenset(("script", "style", "noscript", "template", "svg", "select", "head"))


class HeadingContext:
    """The texts around a page's heading, read when first asked for; there may be no heading."""

    def __init__(self, heading: LexborNode | None) -> None:
        self._heading = heading

    @cached_property
    def after(self) -> Iterable[str]:
        """The texts that follow the heading, in document order, as far as one looks."""
        return _Texts(_texts_after(self._heading)) if self._heading is not None else ()

    @cached_property
    def before(self) -> Iterable[str]:
        """The texts that precede the heading, the nearest first, as far as one looks."""
        return _Texts(_texts_before(self._heading)) if self._heading is not None else ()


class _Texts:
    """Texts that are read only as far as somebody goes, and kept for whoever comes next."""

    def __init__(self, unread: Iterator[str]) -> None:
        self._unread = unread
        self._read: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for place in count():
            if place == len(self._read):
                text = next(self._unread, None)
                if text is None:
                    return
                self._read.append(text)
            yield self._read[place]


def nodes_within(element: LexborNode) -> Iterator[LexborNode]:
    """Yield an element and what it holds, in document order, as far as one looks."""
    return islice(element.traverse(include_text=True), _MAX_NODES_WITHIN)


def texts_within(element: LexborNode) -> list[str]:
    """Return the texts of an element, as far as one looks."""
    texts = (node for node in nodes_within(element) if node.is_text_node)
    visible = (node for node in texts if node.parent is None or node.parent.tag not in _NOT_TEXT)
    return list(filter(None, map(_text_of, visible)))


def _texts_after(element: LexborNode) -> Iterator[str]:
    node = _next_outside(element)
    for _ in range(_MAX_NODES_AFTER):
        if node is None:
            return
        inside = None
        if node.is_text_node:
            if said := _text_of(node):
                yield said
        elif node.tag not in _NOT_TEXT:
            inside = node.first_child
        node = inside or _next_outside(node)


def _texts_before(element: LexborNode) -> Iterator[str]:
    node = _previous_outside(element)
    for _ in range(_MAX_NODES_BEFORE):
        if node is None:
            return
        inside = None
        if node.is_text_node:
            if said := _text_of(node):
                yield said
        elif node.tag not in _NOT_TEXT:
            inside = node.last_child
        node = inside or _previous_outside(node)


def _text_of(node: LexborNode) -> str:
    text = node.text_content
    return collapse(text[:_MAX_TEXT_CHARS]) if text and not text.isspace() else ""


def _next_outside(node: LexborNode | None) -> LexborNode | None:
    """Return the node that follows in document order, passing over what the node holds."""
    while node is not None:
        if (following := node.next) is not None:
            return following
        node = node.parent
    return None


def _previous_outside(node: LexborNode | None) -> LexborNode | None:
    while node is not None:
        if (preceding := node.prev) is not None:
            return preceding
        node = node.parent
    return None
