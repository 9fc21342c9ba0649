"""The blocks of a markdown text, each with the heading it stands under."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADING = re.compile(r"#{1,6} ")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)]) ")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_SHAPES = {"heading": _HEADING, "item": _ITEM, "code": _FENCE, "row": re.compile(r"\|")}
_MAX_SECTION_CHARS = 200


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, heading, list item, table row or code block."""

    section: str
    text: str


def split_blocks(lines: list[str]) -> list[Block]:
    """Return the blocks that the lines of a markdown text make up."""
    blocks: list[Block] = []
    section = ""
    for text in _texts(lines):
        if _HEADING.match(text):
            section = text.lstrip("#").strip()[:_MAX_SECTION_CHARS]
        blocks.append(Block(section, text))
    return blocks


def shape_of(text: str) -> str:
    """Return what kind of block a text is, by how it begins."""
    return next((shape for shape, mark in _SHAPES.items() if mark.match(text)), "paragraph")


def _texts(lines: list[str]) -> Iterator[str]:
    gathered: list[str] = []
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            gathered.append(line)
            if mark and mark[1].startswith(fence):
                yield from _joined(gathered)
                fence = ""
        elif mark:
            yield from _joined(gathered)
            gathered.append(line)
            fence = mark[1]
        else:
            if not line.strip() or shape_of(line) != "paragraph":
                yield from _joined(gathered)
            gathered.append(line)
            if _HEADING.match(line):
                yield from _joined(gathered)
    yield from _joined(gathered)


def _joined(gathered: list[str]) -> Iterator[str]:
    """Yield the text of the lines gathered so far, if it is any, and gather anew."""
    text = "\n".join(gathered).strip()
    gathered.clear()
    if text:
        yield text
