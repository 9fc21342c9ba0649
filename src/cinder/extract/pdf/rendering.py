"""Writes blocks as simple HTML, words joined to running text."""

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import groupby

from cinder.extract.pdf.blocks import Block, Code, Heading, Lines, ListItem
from cinder.extract.pdf.layout import Word
from cinder.extract.pdf.tables import Table

# Scripts that are written without spaces: a new line puts none between two characters either.
_UNSPACED = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_HYPHENATED = re.compile(r"[^\W\d_]-$")
_COMPOUND = re.compile(r"\w+(?:-\w+)+")

Address = Callable[[str], str | None]


class Renderer:
    """Writes HTML; `address` gives the web address that a link means, None for one to leave out."""

    def __init__(self, address: Address, compounds: frozenset[str]) -> None:
        self._address = address
        self._compounds = compounds

    def render(self, blocks: Iterable[Block]) -> str:
        """Return blocks as HTML, one a line."""
        parts: list[str] = []
        for is_list, group in groupby(blocks, lambda block: isinstance(block, ListItem)):
            members = list(group)
            if is_list:
                items = [block for block in members if isinstance(block, ListItem)]
                parts += self._lists(items)
            else:
                parts += map(self._block, members)
        return "\n".join(parts)

    def _block(self, block: Block) -> str:
        if isinstance(block, Heading):
            return f"<h{block.level}>{self._text(block.lines)}</h{block.level}>"
        if isinstance(block, Table):
            return self._table(block)
        if isinstance(block, Code):
            return f"<pre><code>{escape(chr(10).join(block.lines), quote=False)}</code></pre>"
        return f"<p>{self._text(block.lines)}</p>"

    def _lists(self, items: Sequence[ListItem]) -> list[str]:
        """Return items as lists, nested by their depth."""
        parts: list[str] = []
        open_lists: list[tuple[int, str]] = []
        for item in items:
            tag = "ul" if item.number is None else "ol"
            while open_lists and _is_left(open_lists[-1], item.depth, tag):
                parts.append(f"</li></{open_lists.pop()[1]}>")
            if open_lists and open_lists[-1][0] == item.depth:
                parts.append("</li>")
            else:
                start = f' start="{item.number}"' if item.number not in (None, 1) else ""
                parts.append(f"<{tag}{start}>")
                open_lists.append((item.depth, tag))
            parts.append(f"<li>{self._text(item.lines)}")
        parts += [f"</li></{tag}>" for _, tag in reversed(open_lists)]
        return ["".join(parts)]

    def _table(self, table: Table) -> str:
        rows = [
            "".join(f"<{tag}>{self._text([cell]) if cell else ''}</{tag}>" for cell in row)
            for tag, row in zip(["th", *["td"] * len(table.rows)], table.rows, strict=False)
        ]
        body = "".join(f"<tr>{row}</tr>" for row in rows[1:])
        return f"<table><thead><tr>{rows[0]}</tr></thead><tbody>{body}</tbody></table>"

    def _text(self, lines: Lines) -> str:
        """Return lines as one run of text, with its links."""
        pieces: list[tuple[str | None, str]] = []
        for line in lines:
            for word in line:
                self._add_word(pieces, word, is_new_line=word is line[0])
        return "".join(_linked(link, text) for link, text in _merged(pieces))

    def _add_word(
        self, pieces: list[tuple[str | None, str]], word: Word, *, is_new_line: bool
    ) -> None:
        link = self._address(word.link) if word.link else None
        if not pieces:
            pieces.append((link, word.text))
            return
        last_link, last = pieces[-1]
        if is_new_line and self._is_broken(last, word.text):
            pieces[-1] = (last_link, f"{last[:-1]}{word.text}")
        elif _is_unspaced(last, word.text) or (is_new_line and _HYPHENATED.search(last)):
            pieces[-1] = (last_link, f"{last}{word.text}")
        else:
            pieces.append((link, word.text))

    def _is_broken(self, last: str, following: str) -> bool:
        """Whether a word was divided at the end of a line, rather than written with a hyphen."""
        if not _HYPHENATED.search(last) or not following[:1].islower():
            return False
        return f"{last}{following}".strip(".,;:!?()\"'").casefold() not in self._compounds


def find_compounds(lines: Iterable[Sequence[Word]]) -> frozenset[str]:
    """Return the words that a document writes with a hyphen where no line ends."""
    return frozenset(
        found.casefold()
        for line in lines
        for word in line[:-1]
        if "-" in word.text[1:-1]
        for found in _COMPOUND.findall(word.text)
    )


def _is_unspaced(last: str, following: str) -> bool:
    return bool(_UNSPACED.match(last[-1]) and _UNSPACED.match(following))


def _is_left(innermost: tuple[int, str], depth: int, tag: str) -> bool:
    return innermost[0] > depth or (innermost[0] == depth and innermost[1] != tag)


def _merged(pieces: Sequence[tuple[str | None, str]]) -> list[tuple[str | None, str]]:
    """Return pieces with the same link as one, with the spaces between them."""
    merged: list[tuple[str | None, str]] = []
    for link, group in groupby(pieces, lambda piece: piece[0]):
        merged += [(None, " ")] if merged else []
        merged.append((link, " ".join(text for _, text in group)))
    return merged


def _linked(link: str | None, text: str) -> str:
    shown = escape(text, quote=False)
    return f'<a href="{escape(link)}">{shown}</a>' if link else shown
