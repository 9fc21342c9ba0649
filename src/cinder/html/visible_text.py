"""The text that a reader sees: words of inline elements joined, one line for each block."""

import re
from itertools import compress
from operator import itemgetter, not_

from selectolax.lexbor import LexborNode

from cinder.html.tree import collapse
from cinder.text.terms import extra_words

INLINE_TAGS = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del"),
        *("dfn", "em", "font", "i", "ins", "kbd", "label", "mark", "q", "rp", "rt", "ruby"),
        *("s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt"),
        *("u", "var", "wbr"),
    )
)
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
# ASCII characters that are neither letters, digits nor white space.
_SIGNS = bytes(code for code in range(128) if not (chr(code).isalnum() or chr(code).isspace()))
# Maps white space to a space and every other byte to one letter.
_RUNS = bytes(ord(" " if chr(code).isspace() else "a") for code in range(256))
_FIRST = itemgetter(0)
_NOT_TEXT = frozenset(("script", "style", "template", "head", "title"))


def visible_text(root: LexborNode) -> str:
    """Return the text of `root`, one line for each block, white space collapsed."""
    lines: list[list[str]] = [[]]
    current = -1
    # The number of the block that each element's text belongs to; -1 for elements without text.
    blocks: dict[int, int] = {}
    for node in root.traverse(include_text=True):
        parent = node.parent
        block = blocks.get(parent.mem_id, 0) if parent is not None else 0
        if node.is_text_node:
            text = node.text_content or ""
        else:
            tag = node.tag
            if block < 0 or tag in _NOT_TEXT:
                block = -1
            elif tag not in INLINE_TAGS:
                block = node.mem_id
            blocks[node.mem_id] = block
            if tag != "br":
                continue
            text, block = "\n", len(blocks)
        if block < 0:
            continue
        if block != current:
            lines.append([])
            current = block
        lines[-1].append(text)
    return "\n".join(filter(None, (collapse("".join(line)) for line in lines)))


def count_words(text: str) -> int:
    """Return the number of words: runs without white space that hold a letter or digit.

    Scripts without spaces have about two characters to a word.
    """
    # Without punctuation, runs that consist only of it are gone.
    if text.isascii():
        # Counting where runs begin takes a third of the time of splitting them.
        return (b" " + text.encode().translate(_RUNS, _SIGNS)).count(b" a")
    bare = text.encode("utf-8", "surrogatepass").translate(None, _SIGNS)
    runs = bare.decode("utf-8", "surrogatepass").split()
    # Nearly all runs begin with a letter or digit; only the others are searched.
    doubtful = compress(runs, map(not_, map(str.isalnum, map(_FIRST, runs))))
    empty = sum(_LETTER_OR_DIGIT.search(run) is None for run in doubtful)
    return len(runs) - empty + extra_words(text)
