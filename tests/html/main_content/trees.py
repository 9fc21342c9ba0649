"""Block trees of small pages, for the tests of what works on them."""

from cinder.html.main_content.blocks import BlockTree, read_blocks
from cinder.html.tree import parse_html


def block_tree(html: str) -> BlockTree:
    """Return the blocks of an HTML fragment."""
    body = parse_html(html).body
    assert body is not None
    return read_blocks(body)


def texts(tree: BlockTree) -> list[str]:
    """Return the text of each block, white space collapsed."""
    return [" ".join(block.text.split()) for block in tree.blocks]
