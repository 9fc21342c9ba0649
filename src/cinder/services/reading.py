"""Reading a document's markdown: whole, one section of it, or the passages that match a query."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from cinder.errors import FieldProblem, InvalidRequest
from cinder.extract.reading.blocks import Block, find_blocks
from cinder.extract.reading.cutting import describe_begin, find_cut
from cinder.extract.reading.outline import Heading, find_heading, find_outline, nearest_ids
from cinder.extract.reading.passages import SEARCHED_CHARS, Passage, find_passages
from cinder.model.document import Document
from cinder.services.excerpt import Excerpt, Window
from cinder.services.passage_text import show_passages

__all__ = [
    "Heading",
    "Reading",
    "has_headings",
    "is_structure_kept",
    "read_document",
    "read_markdown",
    "structure_of",
    "take_markdown",
]

# A tool's failure is cut at a thousand characters.
_LISTED_CHARS = 500
# About what a block and a heading take in memory.
_BLOCK_BYTES, _HEADING_BYTES = 100, 250
# A structure is kept if it is small, or takes at most so many times what its text does.
_SMALL_STRUCTURE_BYTES, _MAX_STRUCTURE_SHARE = 4 * 1024, 4
_STRUCTURE = "structure"
_MARKDOWN_NAMES = (".md", ".mdx", ".markdown", "/llms.txt", "/llms-full.txt")


@dataclass(frozen=True, slots=True)
class TextStructure:
    """The blocks of a markdown text and the outline that its headings make."""

    blocks: Sequence[Block]
    outline: tuple[Heading, ...]

    @classmethod
    def of(cls, markdown: str, *, has_headings: bool) -> "TextStructure":
        """Find the structure of a text."""
        blocks = find_blocks(markdown, has_headings=has_headings)
        return cls(blocks, find_outline(markdown, blocks))

    @property
    def memory_bytes(self) -> int:
        """About how much memory it takes."""
        return len(self.blocks) * _BLOCK_BYTES + len(self.outline) * _HEADING_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read of a text, and the outline of the whole."""

    excerpt: Excerpt
    outline: tuple[Heading, ...] = ()
    section: Heading | None = None
    """The section that was read, where one was asked for."""
    passages: tuple[Passage, ...] | None = None
    """What matches the query, in order; None where there was no query."""
    notices: tuple[str, ...] = ()
    """What to know about the excerpt, in sentences."""
    has_more: bool = False
    """Whether passages were left out."""


def has_headings(document: Document) -> bool:
    """Whether `# …` begins a heading in a document's text: in plain text it is a comment.

    Servers send markdown as plain text, too; then its name tells.
    """
    if document.content_type.partition(";")[0].strip().lower() != "text/plain":
        return True
    path = document.final_url.partition("?")[0].partition("#")[0].lower()
    return path.endswith(_MARKDOWN_NAMES)


def structure_of(document: Document) -> TextStructure:
    """Return the structure of a document's markdown, computed once for as long as it is in memory.

    One that takes far more room than its text is computed each time.
    """
    content = document.content
    kept = content.derived.get(_STRUCTURE)
    if isinstance(kept, TextStructure):
        return kept
    markdown = content.markdown or ""
    found = TextStructure.of(markdown, has_headings=has_headings(document))
    if found.memory_bytes <= max(_SMALL_STRUCTURE_BYTES, _MAX_STRUCTURE_SHARE * len(markdown)):
        content.derived[_STRUCTURE] = found
    return found


def is_structure_kept(document: Document) -> bool:
    """Whether a document can be read without computing its structure first."""
    return _STRUCTURE in document.content.derived


def read_document(document: Document, window: Window) -> Reading:
    """Return the part of a document's markdown that a window asks for.

    Raises:
        InvalidRequest: it has no such section.
    """
    return _read(document.content.markdown or "", structure_of(document), window)


def read_markdown(markdown: str, window: Window, *, has_headings: bool = True) -> Reading:
    """Return the part of a text that a window asks for.

    Raises:
        InvalidRequest: it has no such section.
    """
    return _read(markdown, TextStructure.of(markdown, has_headings=has_headings), window)


def _read(markdown: str, structure: TextStructure, window: Window) -> Reading:
    blocks, outline = structure.blocks, structure.outline
    section = None if window.section is None else _find_section(outline, window.section)
    start, end = (section.start, section.end) if section else (0, len(markdown))
    if window.query is not None:
        inside = _blocks_between(blocks, start, end)
        return _read_passages(markdown, inside, outline, section, window)
    first = min(start + window.start, end)
    # Blocks of the section alone: what follows it is no reason to end early.
    last = find_cut(markdown[:end], blocks, first, window.max_chars)
    begin = describe_begin(markdown, blocks, first)
    return Reading(
        excerpt=Excerpt(markdown[first:last], first - start, end - start),
        outline=outline,
        section=section,
        notices=(f"{begin}.",) if begin and last > first else (),
    )


def take_markdown(markdown: str, window: Window) -> Excerpt:
    """Return the part of a text that lies in the window, cut where nothing is torn."""
    return read_markdown(markdown, window).excerpt


def _find_section(outline: Sequence[Heading], wanted: str) -> Heading:
    heading = find_heading(outline, wanted)
    if heading is None:
        message = f"The page has no section {wanted[:100]!r}. {_offer(outline, wanted)}"
        raise InvalidRequest(problems=(FieldProblem("section", message),))
    return heading


def _offer(outline: Sequence[Heading], wanted: str) -> str:
    if not outline:
        return "It has no text at all."
    nearest = nearest_ids(outline, wanted)
    hint = f"Did you mean {' or '.join(map(repr, nearest))}? " if nearest else ""
    listed: list[str] = []
    room = _LISTED_CHARS
    for heading in outline:
        room -= len(heading.id) + 2
        if room < 0:
            break
        listed.append(heading.id)
    rest = len(outline) - len(listed)
    return f"{hint}It has: {', '.join(listed)}" + (f", and {rest} more" if rest else "")


def _blocks_between(blocks: Sequence[Block], start: int, end: int) -> Sequence[Block]:
    first = bisect_left(blocks, start, key=lambda block: block.start)
    last = bisect_left(blocks, end, key=lambda block: block.start)
    return blocks[first:last]


def _read_passages(
    markdown: str,
    blocks: Sequence[Block],
    outline: tuple[Heading, ...],
    section: Heading | None,
    window: Window,
) -> Reading:
    found = find_passages(markdown, blocks, outline, window.query or "")
    shown = show_passages(markdown, found, window.max_chars)
    notices = [_tell_matches(len(found), shown.count, section, window.query or "")]
    if blocks and blocks[-1].end - blocks[0].start > SEARCHED_CHARS:
        notices.append(f"Only the first {SEARCHED_CHARS} characters were searched.")
    return Reading(
        excerpt=Excerpt(shown.text, 0, len(shown.text)),
        outline=outline,
        section=section,
        passages=shown.passages,
        notices=tuple(notices),
        has_more=shown.is_cut or shown.count < len(found),
    )


def _tell_matches(found: int, shown: int, section: Heading | None, query: str) -> str:
    where = f"section {section.id!r}" if section else "the text"
    if not found:
        return (
            f"Nothing in {where} matches {query[:100]!r}: try other words, or choose a section "
            "from the outline."
        )
    passages = f"{found} passages match" if found > 1 else "One passage matches"
    beside = f"; the best {shown} are shown" if shown < found else ""
    return f"{passages} the query in {where}{beside}."
