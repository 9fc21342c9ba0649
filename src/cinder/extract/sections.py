"""The structure of a markdown text: its outline, its sections and its tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_CELL_EDGE = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text up to the next one; level 0 is what stands before any heading."""

    level: int
    title: str
    text: str


def split_sections(markdown: str) -> list[Section]:
    """Return the sections of a text, in order, empty ones included."""
    sections: list[Section] = []
    level, title, lines = 0, "", []
    for line, is_code in _lines(markdown):
        heading = None if is_code else _heading(line)
        if heading is None:
            lines.append(line)
            continue
        sections.append(Section(level, title, "\n".join(lines).strip()))
        (level, title), lines = heading, []
    sections.append(Section(level, title, "\n".join(lines).strip()))
    return [section for section in sections if section.level or section.text]


def find_tables(markdown: str) -> list[list[list[str]]]:
    """Return the tables of a text as rows of cells, the header row first."""
    tables: list[list[list[str]]] = []
    rows: list[list[str]] = []
    for line, is_code in [*_lines(markdown), ("", False)]:
        if not is_code and line.lstrip().startswith("|"):
            rows.append(_cells(line))
        elif rows:
            if len(rows) > 1 and _is_rule(rows[1]):
                tables.append([rows[0], *rows[2:]])
            rows = []
    return tables


def _lines(markdown: str) -> Iterator[tuple[str, bool]]:
    fence = None
    for line in markdown.split("\n"):
        mark = _FENCE.match(line)
        if mark is not None and fence is None:
            fence = mark[1]
            yield line, True
        elif mark is not None and fence is not None and mark[1].startswith(fence):
            fence = None
            yield line, True
        else:
            yield line, fence is not None


def _heading(line: str) -> tuple[int, str] | None:
    level = len(line) - len(line.lstrip("#"))
    if not 1 <= level <= 6 or not line[level : level + 1].isspace():
        return None
    return level, line[level:].strip().rstrip("#").rstrip()


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in _CELL_EDGE.split(inner)]


def _is_rule(cells: list[str]) -> bool:
    return all(cell and not cell.strip(":-") for cell in cells)
