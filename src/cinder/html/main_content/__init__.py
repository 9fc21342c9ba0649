"""The main content of a page: its blocks, scored by what was learned from real pages."""

from collections.abc import Sequence
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from cinder.html.main_content.attached_parts import (
    find_lead_picture,
    find_notes,
    find_title_blocks,
)
from cinder.html.main_content.blocks import BlockTree, read_blocks
from cinder.html.main_content.features import PageHints
from cinder.html.main_content.scorer import BlockScorer
from cinder.html.main_content.selection import (
    choose_blocks,
    find_outside_chrome,
    prune,
    share_of,
)
from cinder.html.tree import append_element, detach, insert_element_before, move_into


class MainContent(NamedTuple):
    """The element that holds the main content of a page, and nothing else any more."""

    root: LexborNode
    kept_share: float
    """The share of the page's words outside navigation, side bars and the like."""


def keep_main_content(
    root: LexborNode,
    hints: PageHints,
    scorer: BlockScorer,
    title: str = "",
    images: Sequence[str] = (),
    *,
    adds_title: bool = True,
) -> MainContent:
    """Remove everything else from a page.

    What remains begins with the page's title as an `h1`, and has no other heading with its words;
    a title that the page does not show is added unless `adds_title` is false. Of the images that
    the page names for previews, it has the one that the page shows.
    """
    tree = read_blocks(root)
    chosen = choose_blocks(tree, scorer.score(tree, hints), hints)
    chosen |= find_notes(root, tree, chosen)
    kept_share = share_of(tree, chosen, find_outside_chrome(tree, chosen))
    titles = find_title_blocks(tree, chosen, title) if title else []
    first = root.first_child
    if first is None or not (titles or (title and adds_title)):
        return MainContent(prune(tree, chosen), kept_share)
    # The element that the content begins with: the title, and the lead picture if it would go.
    head = insert_element_before(first, "div")
    _write_heading(append_element(head, "h1"), tree, titles, title)
    # The place of the title counts as content: a picture beside it stays.
    chosen = chosen.difference(titles).union(titles[:1])
    content = prune(tree, chosen, head, find_lead_picture(tree, images))
    top = content.first_child
    if top is not None and content.mem_id != root.mem_id:
        top.insert_before(head, move=True)
    if titles and not (owner := tree.elements[tree.blocks[titles[0]].owner].node).text().strip():
        detach([owner])
    return MainContent(content, kept_share)


def _write_heading(heading: LexborNode, tree: BlockTree, titles: Sequence[int], title: str) -> None:
    """Write the title with its markup, because a name in it may be code."""
    if titles:
        move_into(heading, tree.blocks[titles[0]].nodes)
    else:
        heading.insert_child(title)
