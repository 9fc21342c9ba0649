"""The structure of a markdown text as data: its sections and its tables."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cinder.extract.reading.blocks import Block, BlockKind
from cinder.extract.reading.outline import Heading

_CELL_EDGE = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text up to the next one; level 0 is what stands before any heading."""

    id: str
    level: int
    title: str
    text: str


def split_sections(markdown: str, outline: Sequence[Heading]) -> list[Section]:
    """Return the sections of a text, in order, each with the text that stands in no other."""
    starts = [heading.start for heading in outline[1:]]
    return [
        Section(heading.id, heading.level, heading.title, markdown[heading.body : end].strip())
        for heading, end in zip(outline, [*starts, len(markdown)], strict=False)
    ]


def find_tables(markdown: str, blocks: Sequence[Block]) -> list[list[list[str]]]:
    """Return the tables of a text as rows of cells, the header row first."""
    tables: list[list[list[str]]] = []
    for block in blocks:
        if block.kind is BlockKind.TABLE:
            rows = [_cells(line) for line in markdown[block.start : block.end].split("\n")]
            if len(rows) > 1 and _is_rule(rows[1]):
                tables.append([rows[0], *rows[2:]])
    return tables


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in _CELL_EDGE.split(inner)]


def _is_rule(cells: list[str]) -> bool:
    return all(cell and not cell.strip(":-") for cell in cells)
