"""The main content of a page: its blocks, scored by what was learned from real pages."""

from selectolax.lexbor import LexborNode

from cinder.html.main_content.blocks import read_blocks
from cinder.html.main_content.features import PageHints
from cinder.html.main_content.scorer import BlockScorer
from cinder.html.main_content.selection import choose_blocks, prune


def keep_main_content(root: LexborNode, hints: PageHints, scorer: BlockScorer) -> LexborNode:
    """Return the element that holds the page's main content, and nothing else any more."""
    tree = read_blocks(root)
    chosen = choose_blocks(tree, scorer.score(tree, hints), is_article=hints.is_article)
    return prune(tree, chosen)
