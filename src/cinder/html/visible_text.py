"""The text a reader sees: words of inline elements joined, blocks on lines of their own."""

import re
from itertools import compress
from operator import itemgetter, not_

from selectolax.lexbor import LexborNode

from cinder.html.tree import collapse

INLINE_TAGS = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del"),
        *("dfn", "em", "font", "i", "ins", "kbd", "label", "mark", "q", "rp", "rt", "ruby"),
        *("s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt"),
        *("u", "var", "wbr"),
    )
)
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
# All of ASCII that is neither a letter, a digit nor white space.
_SIGNS = bytes(code for code in range(128) if not (chr(code).isalnum() or chr(code).isspace()))
# What makes a run of ASCII to one letter, and all that ends one to a space.
_RUNS = bytes(ord(" " if chr(code).isspace() else "a") for code in range(256))
_FIRST = itemgetter(0)
_NOT_TEXT = frozenset(("script", "style", "template", "head", "title"))


def visible_text(root: LexborNode) -> str:
    """Return the text of `root`, one line for each block, white space collapsed."""
    lines: list[str] = []
    line: list[str] = []
    current = -1
    for text, block in _texts_by_block(root):
        if block != current:
            lines.append("".join(line))
            line, current = [], block
        line.append(text)
    lines.append("".join(line))
    return "\n".join(filter(None, map(collapse, lines)))


def count_words(text: str) -> int:
    """Return the number of words: runs without white space that hold a letter or digit."""
    # Without the signs of ASCII, what they alone made up is no run any more.
    if text.isascii():
        # To tell where runs begin takes a third of what it takes to cut them out.
        return (b" " + text.encode().translate(_RUNS, _SIGNS)).count(b" a")
    bare = text.encode("utf-8", "surrogatepass").translate(None, _SIGNS)
    runs = bare.decode("utf-8", "surrogatepass").split()
    # Nearly all begin with a letter or digit, and are told by that alone.
    doubtful = compress(runs, map(not_, map(str.isalnum, map(_FIRST, runs))))
    return len(runs) - sum(_LETTER_OR_DIGIT.search(run) is None for run in doubtful)


def _texts_by_block(root: LexborNode) -> list[tuple[str, int]]:
    """Pair each text with a number that changes wherever a block begins or ends."""
    texts: list[tuple[str, int]] = []
    blocks: dict[int, int] = {}
    for node in root.traverse(include_text=True):
        parent = node.parent
        block = blocks.get(parent.mem_id, 0) if parent is not None else 0
        if node.is_text_node:
            if block >= 0:
                texts.append((node.text_content or "", block))
        else:
            blocks[node.mem_id] = _block_of(node, block)
            if node.tag == "br":
                texts.append(("\n", len(blocks)))
    return texts


def _block_of(node: LexborNode, parent_block: int) -> int:
    if parent_block < 0 or node.tag in _NOT_TEXT:
        return -1
    return parent_block if node.tag in INLINE_TAGS else node.mem_id
