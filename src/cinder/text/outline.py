"""The outline of a markdown text: headings with ids and sizes, sections and tables."""

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cinder.text.markdown_blocks import BlockKind, MarkdownBlock
from cinder.text.sentences import plain_text
from cinder.text.terms import BYTES_PER_TOKEN, count_bytes

# The id of the text before the first heading.
TOP = "top"

# Headings beyond these have no id; they are part of the last section that has one.
MAX_HEADINGS = 5_000

_MAX_ID_CHARS = 60
_MAX_TITLE_CHARS = 200
# Of a heading with its links and marks.
_READ_TITLE_CHARS = 1_000
_WORD = re.compile(r"\w+")
_COMPARED_IDS = 1_000
# Marks where a page of a PDF begins.
_PAGE_MARK = re.compile(r"<!-- page \d{1,9} -->")


@dataclass(frozen=True, slots=True)
class OutlineHeading:
    """A heading and its section, which ends at the next heading of the same or a higher level."""

    id: str
    level: int
    title: str
    start: int
    end: int
    body: int
    """Where the text after the heading itself begins."""
    bytes_per_char: float = 1.0

    @property
    def chars(self) -> int:
        """The size of the section, its subsections included."""
        return self.end - self.start

    @property
    def tokens(self) -> int:
        """About how many tokens the section has."""
        return math.ceil(self.chars * self.bytes_per_char / BYTES_PER_TOKEN)


def find_outline(markdown: str, blocks: Sequence[MarkdownBlock]) -> tuple[OutlineHeading, ...]:
    """Return the headings of a text, in order.

    Text before the first one has an entry of its own, at level 0, and so has a text without any.
    The section of a heading right after the mark of a page begins at that mark.
    """
    headings: list[tuple[int, MarkdownBlock]] = []
    before: MarkdownBlock | None = None
    for block in blocks:
        if block.kind is BlockKind.HEADING and len(headings) < MAX_HEADINGS:
            start = block.start
            if before is not None and _PAGE_MARK.fullmatch(markdown, before.start, before.end):
                start = before.start
            headings.append((start, block))
        before = block
    first = headings[0][0] if headings else len(markdown)
    taken: dict[str, int] = {}
    bytes_per_char = count_bytes(markdown) / max(len(markdown), 1)
    found = []
    if markdown[:first].strip():
        found.append(OutlineHeading(_take_id(TOP, taken), 0, "", 0, first, 0, bytes_per_char))
    for start, block in headings:
        title = plain_text(block.title[:_READ_TITLE_CHARS])[:_MAX_TITLE_CHARS]
        name = _take_id(_slug(title), taken)
        end = len(markdown)
        found.append(
            OutlineHeading(name, block.level, title, start, end, block.end, bytes_per_char)
        )
    open_indexes: list[int] = []
    for index, heading in enumerate(found):
        while open_indexes and found[open_indexes[-1]].level >= heading.level:
            last = open_indexes.pop()
            found[last] = replace(found[last], end=heading.start)
        if heading.level:
            open_indexes.append(index)
    return tuple(found)


def find_heading(outline: Sequence[OutlineHeading], wanted: str) -> OutlineHeading | None:
    """Return the heading that an id, a title, or the beginning of a single one names."""
    exact, name = wanted.strip(), wanted.strip().casefold()
    if not name:
        return None
    for is_meant in (
        lambda heading: heading.id == exact,
        lambda heading: heading.title.casefold() == name,
        lambda heading: heading.id == name,
    ):
        if found := next(filter(is_meant, outline), None):
            return found
    matches = [heading for heading in outline if _begins(heading, name)]
    return matches[0] if len(matches) == 1 else None


def nearest_ids(outline: Sequence[OutlineHeading], wanted: str) -> list[str]:
    """Return the ids that begin with a wanted one or resemble it, the likeliest first."""
    name = wanted.strip().casefold()[:_MAX_ID_CHARS]
    matches = [heading.id for heading in outline if name and _begins(heading, name)]
    known = [heading.id for heading in outline[:_COMPARED_IDS]]
    alike = difflib.get_close_matches(_slug(name), known, n=3, cutoff=0.5)
    return list(dict.fromkeys([*matches[:3], *alike]))[:3]


def _begins(heading: OutlineHeading, name: str) -> bool:
    return heading.id.startswith(name) or heading.title.casefold().startswith(name)


def _take_id(wanted: str, taken: dict[str, int]) -> str:
    """Return an id that is unique in its text; `taken` has the number of the last of each."""
    unique = wanted
    while unique in taken:
        taken[wanted] += 1
        unique = f"{wanted}-{taken[wanted]}"
    taken[unique] = 1
    return unique


def _slug(title: str) -> str:
    slug = "-".join(_WORD.findall(title.casefold()))
    if len(slug) > _MAX_ID_CHARS:
        cut = slug.rfind("-", _MAX_ID_CHARS // 2, _MAX_ID_CHARS + 1)
        slug = slug[: cut if cut > 0 else _MAX_ID_CHARS]
    return slug or "section"


_CELL_EDGE = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class OutlineSection:
    """A heading and the text up to the next one; level 0 is the text before any heading."""

    id: str
    level: int
    title: str
    text: str


def split_sections(markdown: str, outline: Sequence[OutlineHeading]) -> list[OutlineSection]:
    """Return the sections of a text, in order, each without the text of its subsections."""
    starts = [heading.start for heading in outline[1:]]
    return [
        OutlineSection(
            heading.id, heading.level, heading.title, markdown[heading.body : end].strip()
        )
        for heading, end in zip(outline, [*starts, len(markdown)], strict=False)
    ]


def find_tables(markdown: str, blocks: Sequence[MarkdownBlock]) -> list[list[list[str]]]:
    """Return the tables of a text as rows of cells, the header row first."""
    tables: list[list[list[str]]] = []
    for block in blocks:
        if block.kind is BlockKind.TABLE:
            lines = markdown[block.start : block.end].split("\n")
            inner = (line.strip().removeprefix("|").removesuffix("|") for line in lines)
            rows = [
                [cell.strip().replace("\\|", "|") for cell in _CELL_EDGE.split(line)]
                for line in inner
            ]
            if len(rows) > 1 and all(cell and not cell.strip(":-") for cell in rows[1]):
                tables.append([rows[0], *rows[2:]])
    return tables
