"""The outline of a markdown text: headings with ids and sizes, sections and tables."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from cinder.text.markdown_blocks import BlockKind, MarkdownBlock
from cinder.text.sentences import plain_text

# What stands before the first heading.
TOP = "top"

# Headings beyond these have no id; they are part of the last section that has one.
MAX_HEADINGS = 5_000

_CHARS_PER_TOKEN = 4
_MAX_ID_CHARS = 60
_MAX_TITLE_CHARS = 200
# Of a heading as it stands, links and all.
_READ_TITLE_CHARS = 1_000
_WORD = re.compile(r"\w+")
_COMPARED_IDS = 1_000
# What tells where a page of a PDF begins.
_PAGE_MARK = re.compile(r"<!-- page \d{1,9} -->")


@dataclass(frozen=True, slots=True)
class OutlineHeading:
    """A heading and the section beneath it, which reaches to the next one of its rank."""

    id: str
    level: int
    title: str
    start: int
    end: int
    body: int
    """Where the text after the heading itself begins."""

    @property
    def chars(self) -> int:
        """The size of the section, its subsections included."""
        return self.end - self.start

    @property
    def tokens(self) -> int:
        """About how many tokens reading the section costs."""
        return -(-self.chars // _CHARS_PER_TOKEN)


def find_outline(markdown: str, blocks: Sequence[MarkdownBlock]) -> tuple[OutlineHeading, ...]:
    """Return the headings of a text, in order.

    Text before the first one has an entry of its own, at level 0, and so has a text without any.
    """
    headings = list(islice(_headings(markdown, blocks), MAX_HEADINGS))
    first = headings[0][0] if headings else len(markdown)
    ids = _Ids()
    found = []
    if markdown[:first].strip():
        found.append(OutlineHeading(ids.take(TOP), 0, "", 0, first, 0))
    for start, block in headings:
        title = plain_text(block.title[:_READ_TITLE_CHARS])[:_MAX_TITLE_CHARS]
        name = ids.take(_slug(title))
        found.append(OutlineHeading(name, block.level, title, start, len(markdown), block.end))
    return tuple(_with_ends(found))


def _headings(
    markdown: str, blocks: Sequence[MarkdownBlock]
) -> Iterator[tuple[int, MarkdownBlock]]:
    """Yield the headings and where their sections begin: at the page's mark, if one precedes."""
    before: MarkdownBlock | None = None
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            is_marked = before is not None and _PAGE_MARK.fullmatch(
                markdown, before.start, before.end
            )
            yield before.start if before is not None and is_marked else block.start, block
        before = block


def find_heading(outline: Sequence[OutlineHeading], wanted: str) -> OutlineHeading | None:
    """Return the heading that an id, a title, or the beginning of a single one names."""
    given, name = wanted.strip(), wanted.strip().casefold()
    if not name:
        return None
    for is_meant in (
        lambda heading: heading.id == given,
        lambda heading: heading.title.casefold() == name,
        lambda heading: heading.id == name,
    ):
        if found := next(filter(is_meant, outline), None):
            return found
    begun = [heading for heading in outline if _begins(heading, name)]
    return begun[0] if len(begun) == 1 else None


def nearest_ids(outline: Sequence[OutlineHeading], wanted: str) -> list[str]:
    """Return the ids that resemble a wanted one or begin as it does, the likeliest first."""
    name = wanted.strip().casefold()[:_MAX_ID_CHARS]
    begun = [heading.id for heading in outline if name and _begins(heading, name)]
    known = [heading.id for heading in outline[:_COMPARED_IDS]]
    alike = difflib.get_close_matches(_slug(name), known, n=3, cutoff=0.5)
    return list(dict.fromkeys([*begun[:3], *alike]))[:3]


def _begins(heading: OutlineHeading, name: str) -> bool:
    return heading.id.startswith(name) or heading.title.casefold().startswith(name)


def _with_ends(headings: list[OutlineHeading]) -> list[OutlineHeading]:
    """Return headings with the ends of their sections: where the next of their rank begins."""
    ended = list(headings)
    open_ones: list[int] = []
    for index, heading in enumerate(headings):
        while open_ones and headings[open_ones[-1]].level >= heading.level:
            last = open_ones.pop()
            ended[last] = replace(ended[last], end=heading.start)
        if heading.level:
            open_ones.append(index)
    return ended


class _Ids:
    """Gives each heading an id that no other of its text has."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        given = wanted
        while given in self._taken:
            self._counts[wanted] = self._counts.get(wanted, 1) + 1
            given = f"{wanted}-{self._counts[wanted]}"
        self._taken.add(given)
        return given


def _slug(title: str) -> str:
    slug = "-".join(_WORD.findall(title.casefold()))
    if len(slug) > _MAX_ID_CHARS:
        cut = slug.rfind("-", _MAX_ID_CHARS // 2, _MAX_ID_CHARS + 1)
        slug = slug[: cut if cut > 0 else _MAX_ID_CHARS]
    return slug or "section"


_CELL_EDGE = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class OutlineSection:
    """A heading and the text up to the next one; level 0 is what stands before any heading."""

    id: str
    level: int
    title: str
    text: str


def split_sections(markdown: str, outline: Sequence[OutlineHeading]) -> list[OutlineSection]:
    """Return the sections of a text, in order, each with the text that stands in no other."""
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
            rows = [_cells(line) for line in markdown[block.start : block.end].split("\n")]
            if len(rows) > 1 and _is_rule(rows[1]):
                tables.append([rows[0], *rows[2:]])
    return tables


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in _CELL_EDGE.split(inner)]


def _is_rule(cells: list[str]) -> bool:
    return all(cell and not cell.strip(":-") for cell in cells)
