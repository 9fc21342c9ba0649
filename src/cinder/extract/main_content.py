"""Finds the part of a page that is its main content."""

import re
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

from cinder.extract.html_tree import detach

_MARKED_TAGS = frozenset(("article", "main"))
_MARKED_ROLES = frozenset(("main", "article"))
_TEXT_TAGS = frozenset(
    (
        *("p", "li", "td", "th", "dd", "dt", "pre", "blockquote", "h1", "h2", "h3", "h4"),
        *("h5", "h6", "figcaption"),
    )
)
_NEVER_BOILERPLATE = frozenset(("article", "main", "h1", "a", "p"))
_BOILERPLATE_NAME = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|gdpr|newsletter|subscribe|breadcrumbs?|share|sharing|social|"
    r"related|recommended|recommendations|sidebar|popup|pagination|pager|respond|author-bio|"
    r"also-like|read-next|more-stories|trending|masthead|copyright|footer|navbar|navigation|nav|"
    r"menu)(?:$|[\s_-])",
    re.IGNORECASE,
)
# Shares of a page's text, tuned on real pages; the result hardly changes with any of them.
_BOILERPLATE_MAX_SHARE = 0.3
_MARKED_MIN_SHARE = 0.4
_DESCENT_MIN_SHARE = 0.85


@dataclass(slots=True)
class _Block:
    """An element and its amount of text, in characters: all of it, and what is not in links."""

    node: LexborNode
    parent: int
    in_link: bool
    children: list[int] = field(default_factory=list)
    text: int = 0
    prose: int = 0


def keep_main_content(root: LexborNode) -> LexborNode:
    """Return the element that holds the page's main content, cleared of boilerplate.

    What is not content below it is taken out of the tree. A page in which nothing stands out is
    returned whole.
    """
    blocks = _measure(root)
    boilerplate = _find_boilerplate(blocks)
    detach(blocks[index].node for index in boilerplate)
    prose = _prose_totals(blocks, boilerplate)
    return blocks[_descend(blocks, prose, _choose_start(blocks, prose))].node


def _measure(root: LexborNode) -> list[_Block]:
    """List every element with its own text; an element always stands after its parent."""
    blocks: list[_Block] = []
    index_of: dict[int, int] = {}
    for node in root.traverse(include_text=True, skip_empty=True):
        parent_node = node.parent
        parent = index_of.get(parent_node.mem_id, -1) if parent_node is not None else -1
        if node.is_text_node:
            _count(blocks[parent], node.text_content)
        elif node.is_element_node:
            index_of[node.mem_id] = len(blocks)
            in_link = node.tag == "a" or (parent >= 0 and blocks[parent].in_link)
            if parent >= 0:
                blocks[parent].children.append(len(blocks))
            blocks.append(_Block(node, parent, in_link))
    return blocks


def _count(block: _Block, text: str | None) -> None:
    length = len(text.strip()) if text else 0
    block.text += length
    if not block.in_link:
        block.prose += length


def _find_boilerplate(blocks: list[_Block]) -> set[int]:
    texts = [block.text for block in blocks]
    for index in range(len(blocks) - 1, 0, -1):
        texts[blocks[index].parent] += texts[index]
    limit = texts[0] * _BOILERPLATE_MAX_SHARE
    return {
        index
        for index, block in enumerate(blocks)
        if texts[index] <= limit and _is_named_boilerplate(block.node)
    } - {0}


def _is_named_boilerplate(node: LexborNode) -> bool:
    if node.tag in _NEVER_BOILERPLATE:
        return False
    attributes = node.attributes
    names = (attributes.get("class"), attributes.get("id"))
    return any(name and _BOILERPLATE_NAME.search(name) for name in names)


def _prose_totals(blocks: list[_Block], dropped: set[int]) -> list[int]:
    totals = [block.prose for block in blocks]
    for index in range(len(blocks) - 1, 0, -1):
        if index in dropped:
            totals[index] = 0
        totals[blocks[index].parent] += totals[index]
    return totals


def _choose_start(blocks: list[_Block], prose: list[int]) -> int:
    """Return the element marked as main that has the most prose, or 0 when it has too little."""
    marked = (index for index, block in enumerate(blocks) if _is_marked(block.node))
    best = max(marked, key=prose.__getitem__, default=0)
    return best if prose[best] >= prose[0] * _MARKED_MIN_SHARE else 0


def _is_marked(node: LexborNode) -> bool:
    if node.tag in _MARKED_TAGS:
        return True
    attributes = node.attributes
    return attributes.get("role") in _MARKED_ROLES or attributes.get("itemprop") == "articleBody"


def _descend(blocks: list[_Block], prose: list[int], start: int) -> int:
    """Follow the child that holds nearly all of the prose, as long as there is one."""
    current = start
    while blocks[current].children:
        child = max(blocks[current].children, key=prose.__getitem__)
        is_whole = prose[child] > 0 and prose[child] >= prose[current] * _DESCENT_MIN_SHARE
        if not is_whole or blocks[child].node.tag in _TEXT_TAGS:
            break
        current = child
    return current
