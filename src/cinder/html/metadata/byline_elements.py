"""Elements whose markup names an author or a date, and the text around a heading."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import count, islice, takewhile

from selectolax.lexbor import LexborNode

from cinder.html.tree import Elements, collapse, name_words

_MAX_ELEMENTS = 150
_MAX_ANCESTORS = 12
# So many marked elements next to the heading, with no other heading between, are the page's own.
_MAX_NEAR_BEFORE = 3
_MAX_NEAR_BEHIND = 6
_MAX_CLASS_CHARS = 300

_HEADINGS = frozenset(("h1", "h2"))
# The others are common web components: a script writes a relative time into them, and an attribute
# has the date.
_TIME_TAGS = frozenset(("time", "relative-time", "time-ago"))
_NEVER_MARKED = frozenset(
    ("html", "body", "main", "article", "input", "form", "link", "meta", "img", "button", "figure")
)
_MARKING_WORDS = ("author", "byline", "username", "date", "publish")
_AUTHOR_WORDS = frozenset(("author", "authors", "byline", "bylines", "username"))
_BYLINE_WORDS = frozenset(("byline", "bylines", "authors"))
_NAME_WORDS = frozenset(("name", "names", "link", "vcard", "fn"))
_DATE_WORDS = frozenset(("date", "dates", "time", "timestamp", "datetime", "published", "posted"))
_PUBLISHED_WORDS = frozenset(("published", "publish", "posted", "created", "pub"))
_MODIFIED_WORDS = frozenset(
    ("updated", "update", "modified", "modify", "changed", "edited", "revised", "reviewed")
)
_PICTURE_WORDS = frozenset(("avatar", "image", "img", "photo", "picture", "icon", "bio", "social"))
# Names of elements with texts by others than the author.
_FOREIGN_WORDS = frozenset(
    (
        *("comment", "comments", "reply", "replies", "testimonial", "testimonials", "quote"),
        *("review", "reviews"),
    )
)
# Names of elements about other pages, unless they are near the page's heading.
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
    """What a marked element contains."""

    AUTHOR = "author"
    PUBLISHED = "published"
    MODIFIED = "modified"


@dataclass(frozen=True, slots=True)
class MarkedElement:
    """A marked element; the lower its rank, the more certain the mark."""

    element: LexborNode
    role: ElementRole
    rank: int
    is_near: bool
    """Whether it is next to the page's heading."""

    def looks_like(self, other: "MarkedElement") -> bool:
        """Whether both are marked in the same way, as the elements of a list are."""
        one, two = self.element, other.element
        return (
            self.rank == other.rank
            and one.tag == two.tag
            and one.attributes.get("class") == two.attributes.get("class")
        )


class MarkedElements:
    """The marked elements of a page, found on first use."""

    def __init__(self, elements: Elements, heading: LexborNode | None) -> None:
        self._elements = elements
        self._heading_id = heading.mem_id if heading is not None else None

    def of(self, role: ElementRole) -> list[MarkedElement]:
        """Return those of a role, the most certain first, then those next to the heading."""
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
            # A date far above the heading is today's, or that of another page.
            if place is not _Place.BEFORE or mark.role is ElementRole.AUTHOR or mark.rank <= 0
        ]
        found.sort(key=lambda item: (item[0], item[1].value))
        return [mark for *_, mark in found]


def _find_marked(elements: Elements) -> list[int]:
    """Return the indexes of headings and of elements that may be marked."""
    marking = {
        names
        for word in _MARKING_WORDS
        if word in elements.lower_classes
        for names in elements.classes
        if word in names.lower()
    }
    indexes = {*elements.tagged(*_HEADINGS, *_TIME_TAGS), *elements.classed(marking)}
    for index in elements.having("rel", "itemprop"):
        attributes = elements.attributes(index)
        itemprop = attributes.get("itemprop") or ""
        names = (*(attributes.get("rel") or "").lower().split(), *itemprop.split())
        if "author" in names or itemprop.startswith("date"):
            indexes.add(index)
    indexes.update(
        index
        for index in elements.tagged("a")
        if "/author" in (elements.attributes(index).get("href") or "")
    )
    return sorted(indexes)


class _Place(Enum):
    """The position of an element relative to the heading, the likeliest for marks first."""

    NEXT = 0
    JUST_BEFORE = 1
    BEHIND = 2
    BEFORE = 3


_NEAR = (_Place.NEXT, _Place.JUST_BEFORE)


def _places(elements: Sequence[LexborNode], heading_id: int | None) -> list[_Place]:
    """Return the position of each element relative to the page's heading."""
    ids = [element.mem_id for element in elements]
    if heading_id not in ids:
        return [_Place.BEHIND] * len(ids)
    heading = ids.index(heading_id)
    places = [_Place.BEFORE] * heading + [_Place.BEHIND] * (len(ids) - heading)
    before = range(heading - 1, max(heading - _MAX_NEAR_BEFORE, 0) - 1, -1)
    behind = range(heading + 1, min(heading + _MAX_NEAR_BEHIND + 1, len(ids)))
    for positions, place in ((before, _Place.JUST_BEFORE), (behind, _Place.NEXT)):
        for position in takewhile(lambda i: elements[i].tag not in _HEADINGS, positions):
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
        around = words | (_words_of(element.parent) if element.parent is not None else frozenset())
        is_modified = "dateModified" in (element.attributes.get("itemprop") or "") or (
            around & _MODIFIED_WORDS and not around & {"published", "posted"}
        )
        role = ElementRole.MODIFIED if is_modified else ElementRole.PUBLISHED
        rank = date - bool(around & _PUBLISHED_WORDS)
        yield MarkedElement(element, role, rank, is_near)


def _author_rank(element: LexborNode, words: frozenset[str]) -> int | None:
    attributes = element.attributes
    if any("author" in (attributes.get(name) or "").split() for name in ("itemprop", "rel")):
        return 0
    if words & _PICTURE_WORDS:
        return None
    if words & _AUTHOR_WORDS:
        # A byline contains more than the name.
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
    """Return how much the ancestors lower an element's rank; None where it is by others.

    Args:
        node: the parent of the element.
        doubts: the results for nodes seen before, as elements share their ancestors.
        ancestors_left: how many ancestors to look at.
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
    """Return the words in an element's classes, id and property."""
    attributes = element.attributes
    names = (attributes.get(name) for name in ("itemprop", "id", "class"))
    return name_words(" ".join(filter(None, names))[:_MAX_CLASS_CHARS])


_MAX_NODES_AFTER = 160
_MAX_NODES_BEFORE = 60
_MAX_NODES_WITHIN = 80
_MAX_TEXT_CHARS = 200
_NOT_TEXT = frozenset(("script", "style", "noscript", "template", "svg", "select", "head"))


class HeadingContext:
    """The texts around a page's heading, read on first use; there may be no heading."""

    def __init__(self, heading: LexborNode | None) -> None:
        self._heading = heading

    @cached_property
    def after(self) -> Iterable[str]:
        """The texts after the heading, in document order, up to a limit."""
        return _Texts(_texts_around(self._heading, _MAX_NODES_AFTER, is_after=True))

    @cached_property
    def before(self) -> Iterable[str]:
        """The texts before the heading, the nearest first, up to a limit."""
        return _Texts(_texts_around(self._heading, _MAX_NODES_BEFORE, is_after=False))


class _Texts:
    """Texts that are read on demand, and kept for the next iteration."""

    def __init__(self, unread: Iterator[str]) -> None:
        self._unread = unread
        self._read: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for index in count():
            if index == len(self._read):
                text = next(self._unread, None)
                if text is None:
                    return
                self._read.append(text)
            yield self._read[index]


def nodes_within(element: LexborNode) -> Iterator[LexborNode]:
    """Yield an element and its descendants, in document order, up to a limit."""
    return islice(element.traverse(include_text=True), _MAX_NODES_WITHIN)


def texts_within(element: LexborNode) -> list[str]:
    """Return the texts of an element, up to a limit of nodes."""
    texts = (node for node in nodes_within(element) if node.is_text_node)
    visible = (node for node in texts if node.parent is None or node.parent.tag not in _NOT_TEXT)
    return list(filter(None, map(_text_of, visible)))


def _texts_around(element: LexborNode | None, max_nodes: int, *, is_after: bool) -> Iterator[str]:
    node = _next_outside(element, is_after=is_after)
    for _ in range(max_nodes):
        if node is None:
            return
        inside = None
        if node.is_text_node:
            if text := _text_of(node):
                yield text
        elif node.tag not in _NOT_TEXT:
            inside = node.first_child if is_after else node.last_child
        node = inside or _next_outside(node, is_after=is_after)


def _text_of(node: LexborNode) -> str:
    text = node.text_content
    return collapse(text[:_MAX_TEXT_CHARS]) if text and not text.isspace() else ""


def _next_outside(node: LexborNode | None, *, is_after: bool) -> LexborNode | None:
    """Return the next node in document order or against it, skipping the node's descendants."""
    while node is not None:
        if (sibling := node.next if is_after else node.prev) is not None:
            return sibling
        node = node.parent
    return None
