"""Features of the scorer: a block's words, its place in the page, and hints about the page.

The shipped scorer was trained on exactly these features: changing a word list or the order requires
another training.
"""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate

import can_ada
from selectolax.lexbor import LexborHTMLParser

from cinder.html.main_content.blocks import (
    BlockTree,
    CueWeights,
    count_siblings,
    find_container,
    find_nearest,
    read_paths,
)
from cinder.models.document import PageMetadata

_WORD = re.compile(r"\w+")
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
    """Whether the page declares to be an article."""
    is_product: bool = False
    """Whether the page declares to be that of a product."""


def read_hints(tree: LexborHTMLParser, metadata: PageMetadata, url: str) -> PageHints:
    """Return the hints that a page gives about its kind."""
    element = tree.css_first('meta[name="generator" i][content]')
    generator = (element.attributes.get("content") or "").lower() if element else ""
    graph = metadata.open_graph
    titles = f"{metadata.title or ''} {graph.get('og:title', '')}"
    og_type = graph.get("og:type", "").lower()
    types: set[str] = set()
    for item in metadata.json_ld:
        value = item.get("@type") if isinstance(item, dict) else None
        names = value if isinstance(value, list) else [value]
        types.update(name.lower() for name in names if isinstance(name, str))
    schema = [float(not types.isdisjoint(kinds)) for kinds in _SCHEMA_KINDS]
    try:
        parsed = can_ada.parse(url)
        host, path, query = parsed.hostname, parsed.pathname.lower(), parsed.search
    except ValueError:
        host, path, query = "", "/", ""
    segments = [segment for segment in path.split("/") if segment]
    whole = f"{host}{path}/"
    values = (
        float("article" in og_type),
        float("product" in og_type),
        float(og_type == "website"),
        *schema,
        float(len(segments)),
        float(len(segments[-1])) if segments else 0.0,
        float(path.count("-")),
        float(bool(query)),
        *(float(pattern.search(whole) is not None) for pattern in _URL_KINDS),
        *(float(any(name in generator for name in names)) for names in _GENERATOR_KINDS),
    )
    return PageHints(
        values,
        _hint_words(titles),
        _hint_words(metadata.description or ""),
        is_article="article" in og_type or bool(schema[0]),
        is_product="product" in og_type or bool(schema[1]),
    )


def _hint_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text[:_MAX_HINT_CHARS].lower()))


# Only the beginning of a block is read: the rest of a long one adds little.
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


# ASCII characters, with a space for each that is not part of a word.
_WORDS_APART = "".join(chr(code) if _WORD.match(chr(code)) else " " for code in range(128))


def _words_of(text: str) -> set[str]:
    # Splitting takes a third of the time of matching.
    if text.isascii():
        return set(text.translate(_WORDS_APART).split())
    return set(_WORD.findall(text))


class PageFeatures:
    """The features of the blocks of one page: of the page, a parent, an owner, a block."""

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
        words = (block.words for block in self._blocks)
        links = (block.link_words for block in self._blocks)
        self._words_before = list(accumulate(words, initial=0))
        self._links_before = list(accumulate(links, initial=0))
        # The number of the first h1, and for each block that of the last heading and its level.
        self._first_h1 = -1
        self._last_headings: list[tuple[int, int]] = []
        heading = (-1, 0)
        for number, block in enumerate(self._blocks):
            if level := _HEADINGS.get(self._elements[block.owner].tag):
                heading = (number, level)
                if level == 1 and self._first_h1 < 0:
                    self._first_h1 = number
            self._last_headings.append(heading)

    def of_page(self) -> tuple[float, ...]:
        """Return the features that all blocks share."""
        root, text = self._tree.root, "".join(self._texts)
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
            # A number that tells scripts apart: 1 for English, 2 for Russian, 3 for Chinese.
            len(text.encode("utf-8", "replace")) / max(len(text), 1),
            *self._hints.values,
        )

    def of_parent(self, index: int) -> tuple[float, ...]:
        """Return the features of a parent of block owners: where it is in the page."""
        element = self._elements[index]
        above = element.parent if element.parent >= 0 else index
        levels: list[float] = []
        ancestor = element
        for level in range(_LEVELS_UP[-1] + 1):
            if level in _LEVELS_UP:
                words = ancestor.words or 1
                levels += (
                    ancestor.words,
                    ancestor.link_words / words,
                    ancestor.words / (ancestor.blocks or 1),
                    ancestor.prose_words / words,
                )
            if ancestor.parent >= 0:
                ancestor = self._elements[ancestor.parent]
        whole = max(self._tree.root.words, 1)
        meeting, large = self._elements[self._meeting[index]], self._elements[self._large[index]]
        return (
            element.depth,
            *(
                element.depth - depth if depth >= 0 else _NOT_AROUND
                for depth in self._around[index]
            ),
            *self._cues[index],
            *self._cues[above][:2],
            *levels,
            # How far away the page's container is, and the next large ancestor.
            self._container[self._meeting[index]],
            element.depth - meeting.depth,
            meeting.words / whole,
            element.depth - large.depth,
            large.words / whole,
            large.link_share,
        )

    def of_owner(self, index: int) -> tuple[float, ...]:
        """Return the features of an element that owns blocks."""
        owner = self._elements[index]
        # The largest group of similar siblings that it, or an ancestor, belongs to.
        largest: tuple[float, ...] = (0, 0, 0, -1)
        groups = 0
        element = owner
        for up in range(_REPEATS_LEVELS_UP + 1):
            if element.parent < 0:
                break
            size = self._siblings.get((element.parent, element.tag, element.class_name), 0)
            if size >= _REPEATS_MIN:
                groups += 1
                if size > largest[0]:
                    largest = (size, element.words, element.link_share, up)
            element = self._elements[element.parent]
        return (
            _SHAPES.get(owner.tag, 0),
            _HEADINGS.get(owner.tag, 0),
            *self._cues[index],
            owner.words,
            owner.link_words / (owner.words or 1),
            owner.words / (owner.blocks or 1),
            *largest,
            groups,
        )

    def of_block(self, number: int) -> tuple[float, ...]:
        """Return the features of a block: its text, the blocks near it, its position."""
        near: list[float] = []
        for reach in (4, 10):
            start, end = max(0, number - reach), min(len(self._blocks), number + reach + 1)
            around = self._words_before[end] - self._words_before[start]
            links = self._links_before[end] - self._links_before[start]
            near += (around / (end - start), links / around)
        block, text = self._blocks[number], self._texts[number]
        words = block.words
        head = text[:_HEAD_CHARS]
        found = _words_of(head.lower())
        in_title = len(found & self._hints.title_words)
        stops = text.count(".") + text.count("!") + text.count("?")
        commas = text.count(",")
        if not text.isascii():
            stops += text.count("\u3002")
            commas += text.count("\uff0c") + text.count("\u3001")
        heading, level = self._last_headings[number]
        before, whole = self._words_before[number], self._words_before[-1]
        return (
            words,
            len(text) / words,
            block.link_words / words,
            stops / words,
            commas / words,
            _ENDINGS.get(text[-1:], 0),
            len(found & _CHROME_WORDS),
            self._copies[head],
            in_title / (len(found) or 1),
            in_title / (len(self._hints.title_words) or 1),
            len(found & self._hints.description_words) / (len(found) or 1),
            *near,
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
