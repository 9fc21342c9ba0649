"""Features of the scorer: a block's words, its place in the page, and hints about the page."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import can_ada
from selectolax.lexbor import LexborHTMLParser

from cinder.html.main_content.blocks import (
    AROUND,
    BlockElement,
    BlockTree,
    CueWeights,
    count_siblings,
    find_container,
    find_nearest,
    read_paths,
)
from cinder.models.document import Json, PageMetadata

_HINT_WORD = re.compile(r"\w+")
_MAX_HINT_CHARS = 2_000

# schema.org types, by the kind of page that has them.
_SCHEMA_KINDS = (
    frozenset(("article", "newsarticle", "blogposting", "reportagenewsarticle")),
    frozenset(("product", "productgroup", "offer", "offershippingdetails")),
    frozenset(("itemlist", "collectionpage", "searchresultspage")),
    frozenset(("discussionforumposting", "qapage", "question")),
    frozenset(("breadcrumblist",)),
    frozenset(("organization", "localbusiness", "service", "corporation")),
    frozenset(("techarticle", "apireference", "softwaresourcecode")),
    frozenset(("faqpage",)),
    frozenset(("recipe",)),
)
_URL_KINDS = tuple(
    map(
        re.compile,
        (
            r"/(?:p|dp|products?|items?|shop|buy|pd|pdp)/",
            r"forum|thread|topic|questions|discussion|community|/t/|/r/",
            r"docs?[./]|documentation|reference|/api/|manual|guide|wiki|developer",
            r"/(?:category|categories|collections?|c|cat|shop|browse|search|tags?|s|b)/",
            r"blog|news|article|post|story|/20\d\d/",
            r"list|directory|jobs|events|rank|results|chart|top",
        ),
    )
)
_GENERATOR_KINDS = (
    ("sphinx", "docusaurus", "mkdocs", "gitbook", "mediawiki", "doxygen", "vitepress"),
    ("discourse", "xenforo", "phpbb", "vbulletin", "vanilla", "flarum", "nodebb"),
    ("woocommerce", "magento", "prestashop", "shopify", "shopware"),
    ("wordpress",),
)


@dataclass(frozen=True, slots=True)
class PageHints:
    """Numbers about the whole page, and the words of its title and description."""

    values: tuple[float, ...]
    title_words: frozenset[str]
    description_words: frozenset[str]
    is_article: bool = False
    """Whether it says of itself that it is one."""


def read_hints(tree: LexborHTMLParser, metadata: PageMetadata, url: str) -> PageHints:
    """Return the hints that a page gives."""
    generator = _generator(tree)
    graph = metadata.open_graph
    titles = f"{metadata.title or ''} {graph.get('og:title', '')}"
    og_type = graph.get("og:type", "").lower()
    schema = tuple(_schema_values(metadata.json_ld))
    values = (
        float("article" in og_type),
        float("product" in og_type),
        float(og_type == "website"),
        *schema,
        *_url_values(url),
        *(float(any(name in generator for name in names)) for names in _GENERATOR_KINDS),
    )
    is_article = "article" in og_type or bool(schema[0])
    return PageHints(
        values, _hint_words(titles), _hint_words(metadata.description or ""), is_article
    )


def _generator(tree: LexborHTMLParser) -> str:
    """Return what the page says it was made with, lower-case."""
    element = tree.css_first('meta[name="generator" i][content]')
    return (element.attributes.get("content") or "").lower() if element else ""


def _hint_words(text: str) -> frozenset[str]:
    return frozenset(_HINT_WORD.findall(text[:_MAX_HINT_CHARS].lower()))


def _schema_values(json_ld: tuple[Json, ...]) -> Iterator[float]:
    found = {name.lower() for item in json_ld for name in _schema_types(item)}
    return (float(not found.isdisjoint(kinds)) for kinds in _SCHEMA_KINDS)


def _schema_types(item: Json) -> list[str]:
    said = item.get("@type") if isinstance(item, dict) else None
    names = said if isinstance(said, list) else [said]
    return [name for name in names if isinstance(name, str)]


def _url_values(url: str) -> tuple[float, ...]:
    try:
        parsed = can_ada.parse(url)
        host, path, query = parsed.hostname, parsed.pathname.lower(), parsed.search
    except ValueError:
        host, path, query = "", "/", ""
    segments = [segment for segment in path.split("/") if segment]
    whole = f"{host}{path}/"
    return (
        float(len(segments)),
        float(len(segments[-1])) if segments else 0.0,
        float(path.count("-")),
        float(bool(query)),
        *(float(pattern.search(whole) is not None) for pattern in _URL_KINDS),
    )


_WORD = re.compile(r"\w+")
# A block is known by how it begins; the rest of a long one adds nothing but time.
_HEAD_CHARS = 120
_CHROME_WORDS = frozenset(
    (
        *("advertisement", "basket", "cart", "comment", "comments", "cookie", "cookies"),
        *("copyright", "download", "follow", "login", "menu", "newsletter", "policy", "privacy"),
        *("register", "related", "reply", "reserved", "search", "share", "shop", "sign"),
        *("sponsored", "subscribe", "terms", "view"),
    )
)
_ENDINGS = dict.fromkeys(".!?\u3002\uff01\uff1f", 1) | {":": 2, "…": 3}
_SHAPES = {"div": 1, "p": 2, "li": 3, "td": 4, "th": 4, "dt": 5, "dd": 5, "pre": 6, "section": 7}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}

_NOT_AROUND = 50
_LEVELS_UP = (0, 2, 3)
_REPEATS_LEVELS_UP = 7
_REPEATS_MIN = 3


# How many features a parent, an owner and a block have; those of the page come first.
_PARENT_SIZE = 1 + len(AROUND) + 5 + 2 + 4 * len(_LEVELS_UP) + 6
_OWNER_SIZE = 2 + 5 + 3 + 5
_BLOCK_SIZE = 11 + 4 + 9
SIZES = (_PARENT_SIZE, _OWNER_SIZE, _BLOCK_SIZE)


class PageFeatures:
    """The features of every block of one page: of the page, its parent, its owner, itself."""

    def __init__(self, tree: BlockTree, hints: PageHints, weights: CueWeights) -> None:
        self._tree = tree
        self._hints = hints
        self._blocks = tree.blocks
        self._elements = tree.elements
        self._texts = [block.text.strip() for block in tree.blocks]
        self._copies = Counter(text[:_HEAD_CHARS] for text in self._texts)
        self._around, self._cues = read_paths(tree, weights)
        self._siblings = count_siblings(tree)
        self._container = find_container(tree)
        self._meeting, self._large = find_nearest(tree, self._container)
        self._first_h1 = self._find_first_h1()
        self._words_before = _running_totals([block.words for block in self._blocks])
        self._links_before = _running_totals([block.link_words for block in self._blocks])
        self._last_headings = self._find_last_headings()

    def of_page(self) -> tuple[float, ...]:
        """Return what is the same for all blocks."""
        root = self._tree.root
        words, count = max(root.words, 1), len(self._blocks)
        tags = Counter(element.tag for element in self._elements)
        container = self._elements[min(self._container, key=self._container.__getitem__)]
        return (
            words,
            count,
            root.link_share,
            root.prose_words / words,
            tags["article"],
            float(tags["main"] > 0),
            sum(tags[name] for name in _HEADINGS),
            container.words / words,
            container.link_share,
            container.depth,
            float(self._first_h1 >= 0),
            words / count,
            tags["form"],
            max(self._siblings.values(), default=0),
            *self._hints.values,
        )

    def of_parent(self, index: int) -> tuple[float, ...]:
        """Return what the parent of elements that own blocks tells by where it stands."""
        element = self._elements[index]
        above = element.parent if element.parent >= 0 else index
        return (
            element.depth,
            *(
                element.depth - depth if depth >= 0 else _NOT_AROUND
                for depth in self._around[index]
            ),
            *self._cues[index],
            *self._cues[above][:2],
            *self._levels_up(element),
            *self._containment(index),
        )

    def of_owner(self, index: int) -> tuple[float, ...]:
        """Return what an element that owns blocks tells itself."""
        element = self._elements[index]
        words = element.words or 1
        return (
            _SHAPES.get(element.tag, 0),
            _HEADINGS.get(element.tag, 0),
            *self._cues[index],
            element.words,
            element.link_words / words,
            element.words / (element.blocks or 1),
            *self._repetition(index),
        )

    def of_block(self, number: int) -> tuple[float, ...]:
        """Return what a block itself and its surroundings tell."""
        return (*self._of_text(number), *self._of_surroundings(number), *self._of_position(number))

    def _levels_up(self, element: BlockElement) -> list[float]:
        found: list[float] = []
        for level in range(_LEVELS_UP[-1] + 1):
            if level in _LEVELS_UP:
                words = element.words or 1
                found += (
                    element.words,
                    element.link_words / words,
                    element.words / (element.blocks or 1),
                    element.prose_words / words,
                )
            if element.parent >= 0:
                element = self._elements[element.parent]
        return found

    def _containment(self, index: int) -> tuple[float, ...]:
        """Return how far away the page's container is, and the next ancestor that is large."""
        whole = max(self._tree.root.words, 1)
        meeting, large = self._elements[self._meeting[index]], self._elements[self._large[index]]
        return (
            self._container[self._meeting[index]],
            self._elements[index].depth - meeting.depth,
            meeting.words / whole,
            self._elements[index].depth - large.depth,
            large.words / whole,
            large.link_share,
        )

    def _repetition(self, index: int) -> tuple[float, ...]:
        """Return what is known of the largest group of like siblings that it is part of."""
        best: tuple[float, ...] = (0, 0, 0, -1)
        groups = 0
        for up in range(_REPEATS_LEVELS_UP + 1):
            element = self._elements[index]
            if element.parent < 0:
                break
            size = self._siblings.get((element.parent, element.tag, element.class_name), 0)
            if size >= _REPEATS_MIN:
                groups += 1
                if size > best[0]:
                    best = (size, element.words, element.link_share, up)
            index = element.parent
        return (*best, groups)

    def _of_text(self, number: int) -> tuple[float, ...]:
        block, text = self._blocks[number], self._texts[number]
        words = block.words
        head = text[:_HEAD_CHARS]
        said = set(_WORD.findall(head.lower()))
        in_title = len(said & self._hints.title_words)
        stops = text.count(".") + text.count("!") + text.count("?")
        commas = text.count(",")
        if not text.isascii():
            stops += text.count("\u3002")
            commas += text.count("\uff0c") + text.count("\u3001")
        return (
            words,
            len(text) / words,
            block.link_words / words,
            stops / words,
            commas / words,
            _ENDINGS.get(text[-1:], 0),
            len(said & _CHROME_WORDS),
            self._copies[head],
            in_title / (len(said) or 1),
            in_title / (len(self._hints.title_words) or 1),
            len(said & self._hints.description_words) / (len(said) or 1),
        )

    def _of_surroundings(self, number: int) -> list[float]:
        found: list[float] = []
        for reach in (4, 10):
            start, end = max(0, number - reach), min(len(self._blocks), number + reach + 1)
            words = self._words_before[end] - self._words_before[start]
            links = self._links_before[end] - self._links_before[start]
            found += (words / (end - start), links / words)
        return found

    def _of_position(self, number: int) -> tuple[float, ...]:
        heading, level = self._last_headings[number]
        before, whole = self._words_before[number], self._words_before[-1]
        return (
            number / len(self._blocks),
            before / whole,
            before,
            whole - self._words_before[number + 1],
            len(self._blocks) - number,
            number,
            number - self._first_h1 if self._first_h1 >= 0 else -999,
            number - heading if heading >= 0 else 99,
            level,
        )

    def _find_first_h1(self) -> int:
        owners = (self._elements[block.owner].tag for block in self._blocks)
        return next((number for number, tag in enumerate(owners) if tag == "h1"), -1)

    def _find_last_headings(self) -> list[tuple[int, int]]:
        """Return the number and level of the heading that each block is or stands below."""
        found: list[tuple[int, int]] = []
        last = (-1, 0)
        for number, block in enumerate(self._blocks):
            level = _HEADINGS.get(self._elements[block.owner].tag)
            last = (number, level) if level else last
            found.append(last)
        return found


def _running_totals(values: Sequence[int]) -> list[int]:
    totals = [0]
    for value in values:
        totals.append(totals[-1] + value)
    return totals
