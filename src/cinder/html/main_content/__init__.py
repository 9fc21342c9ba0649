"""The main content of a page: its blocks, scored by what was learned from real pages."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from cinder.html.main_content.attached_parts import (
    find_lead_picture,
    find_notes,
    find_title_blocks,
)
from cinder.html.main_content.blocks import read_blocks
from cinder.html.main_content.features import PageHints
from cinder.html.main_content.scorer import BlockScorer
from cinder.html.main_content.selection import (
    choose_blocks,
    find_outside_chrome,
    prune,
    share_of,
)
from cinder.html.tree import append_element, detach, insert_element_before, move_into, unwrap


class MainContent(NamedTuple):
    """The element that holds the main content of a page, and nothing else any more."""

    root: LexborNode
    kept_share: float
    """The share of the page's words outside navigation, side bars and the like."""


class ContentHead(NamedTuple):
    """What the main content begins with."""

    title: str = ""
    images: Sequence[str] = ()
    """The addresses that the page names for previews: one that it shows is kept."""
    site_names: AbstractSet[str] = frozenset()
    """Names that are no titles, as `name_key` returns them."""
    adds_title: bool = True
    """Whether a title that the page does not show is added."""


def keep_main_content(
    root: LexborNode, hints: PageHints, scorer: BlockScorer, head: ContentHead
) -> MainContent:
    """Remove everything else from a page.

    What remains begins with the page's title as an `h1`, and has no other heading with its words.
    """
    tree = read_blocks(root)
    chosen = choose_blocks(tree, scorer.score(tree, hints), hints)
    chosen |= find_notes(root, tree, chosen)
    kept_share = share_of(tree, chosen, find_outside_chrome(tree, chosen))
    titles = find_title_blocks(tree, chosen, head.title, head.site_names)
    first = root.first_child
    if first is None or not head.title or not (titles.heading or head.adds_title):
        return MainContent(prune(tree, chosen), kept_share)
    # The element that the content begins with: the title, and the lead picture if it would go.
    top = insert_element_before(first, "div")
    heading = append_element(top, "h1")
    # The title is moved with its markup, because a name in it may be code.
    for number in titles.heading:
        if heading.first_child is not None:
            heading.insert_child(" ")
        move_into(heading, [*_siblings_from(tree.blocks[number].nodes)])
    if not titles.heading:
        heading.insert_child(head.title)
    # A thread's title is often a link to the thread.
    for link in heading.css("a"):
        if link.text().strip() == heading.text().strip():
            unwrap(link)
    # The place of the title counts as content: a picture beside it stays.
    chosen = chosen.difference(titles.copies).union(titles.heading)
    content = prune(tree, chosen, top, find_lead_picture(tree, head.images))
    below = content.first_child
    if below is not None and content.mem_id != root.mem_id:
        below.insert_before(top, move=True)
    owners = {tree.blocks[number].owner for number in titles.heading}
    detach([node for index in owners if not (node := tree.elements[index].node).text().strip()])
    return MainContent(content, kept_share)


def _siblings_from(nodes: Sequence[LexborNode]) -> Iterator[LexborNode]:
    """Yield the nodes of a run of text, and the spaces and line breaks between them."""
    node: LexborNode | None = nodes[0]
    while node is not None:
        yield node
        node = node.next if node.mem_id != nodes[-1].mem_id else None
