"""Lists as markdown can say them: each in the item it belongs to, definitions as items."""

from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from cinder.extract.html_tree import detach
from cinder.extract.tree_edits import (
    append_element,
    children,
    insert_element_before,
    move_into,
    rename,
    text_of,
    unwrap,
)

_MISPLACED = "ul > ul, ul > ol, ol > ul, ol > ol"
_BLOCKS = "p, div, ul, ol, dl, table, pre, blockquote, section, h1, h2, h3, h4, h5, h6, figure"


def place_lists(root: LexborNode) -> None:
    """Move lists that stand beside an item into it."""
    for inner in root.css(_MISPLACED):
        _move_into_item(inner)


def write_definitions(root: LexborNode) -> None:
    """Make definition lists plain ones."""
    for definitions in reversed(root.css("dl")):
        _make_items(definitions)


def _move_into_item(inner: LexborNode) -> None:
    before = inner.prev
    while before is not None and not before.is_element_node:
        before = before.prev
    if before is not None and before.tag == "li":
        move_into(before, [inner])
    else:
        unwrap(inner)


def _make_items(definitions: LexborNode) -> None:
    """Turn `dl` into a list with one item a group of terms; descriptions follow their terms."""
    groups = list(_groups(definitions))
    if not groups:
        rename(definitions, "div")
        return
    new = insert_element_before(definitions, "ul")
    for terms, descriptions in groups:
        item = append_element(new, "li")
        _add_terms(item, terms, has_text=bool(descriptions))
        _add_descriptions(item, descriptions, has_terms=bool(terms))
    detach([definitions])


def _groups(definitions: LexborNode) -> Iterator[tuple[list[LexborNode], list[LexborNode]]]:
    terms: list[LexborNode] = []
    descriptions: list[LexborNode] = []
    for node in _parts(definitions):
        if node.tag == "dt" and descriptions:
            yield terms, descriptions
            terms, descriptions = [], []
        (terms if node.tag == "dt" else descriptions).append(node)
    if terms or descriptions:
        yield terms, descriptions


def _parts(definitions: LexborNode) -> Iterator[LexborNode]:
    for node in definitions.iter():
        if node.tag in ("dt", "dd"):
            yield node
        elif node.tag == "div":
            yield from (part for part in node.iter() if part.tag in ("dt", "dd"))


def _add_terms(item: LexborNode, terms: list[LexborNode], *, has_text: bool) -> None:
    terms = [term for term in terms if text_of(term).strip() or term.css_first("img")]
    for index, term in enumerate(terms):
        if index:
            item.insert_child(", ")
        # A term's own paragraph would break the line that its description shares.
        for block in term.css(_BLOCKS):
            unwrap(block)
        strong = append_element(item, "strong")
        move_into(strong, children(term))
        for bold in strong.css("b, strong"):
            if bold.mem_id != strong.mem_id:
                unwrap(bold)
    if terms and has_text:
        item.insert_child(" " if text_of(item).rstrip().endswith(":") else ": ")


def _add_descriptions(item: LexborNode, descriptions: list[LexborNode], *, has_terms: bool) -> None:
    if len(descriptions) == 1 or not has_terms:
        for description in descriptions:
            _unwrap_only_block(description)
            move_into(item, children(description))
        return
    inner = append_element(item, "ul")
    for description in descriptions:
        _unwrap_only_block(description)
        move_into(append_element(inner, "li"), children(description))


def _unwrap_only_block(description: LexborNode) -> None:
    blocks = [node for node in description.iter() if node.is_element_node]
    if len(blocks) == 1 and blocks[0].tag in ("p", "div"):
        unwrap(blocks[0])
