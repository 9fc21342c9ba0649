"""Reads a document's markdown: whole, one section, passages for a query, or as JSON."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.document import Document, Json, PageMetadata
from cinder.services.excerpt import Excerpt, TextWindow, fit_items, fit_members, json_chars
from cinder.text.markdown_blocks import BlockKind, MarkdownBlock, find_blocks
from cinder.text.outline import OutlineHeading as OutlineHeading
from cinder.text.outline import (
    find_heading,
    find_outline,
    find_tables,
    nearest_ids,
    split_sections,
)
from cinder.text.passages import (
    SEARCHED_CHARS,
    MatchedPassage,
    describe_begin,
    find_cut,
    find_passages,
)

MAX_PASSAGES = 10

_JOINT = "\n\n"
# Passages with a smaller gap are joined: a heading of their own would be longer than the gap.
_GAP_CHARS = 8
_TABLE_HEAD_CHARS = 500
# With less room than this, a passage has no heading.
_HEADED_CHARS = 100
_FENCE = re.compile(r"`{3,}|~{3,}")


@dataclass(frozen=True, slots=True)
class ShownPassages:
    """Passages and their text."""

    text: str
    passages: tuple[MatchedPassage, ...]
    count: int
    """The number of passages before neighbours were joined."""
    is_cut: bool = False
    """Whether the only passage was too long to be shown whole."""


def show_passages(markdown: str, ranked: Sequence[MatchedPassage], max_chars: int) -> ShownPassages:
    """Return the text of the best passages, at most so many characters."""
    taken: list[MatchedPassage] = []
    room = max_chars
    for passage in ranked:
        size = len(_show(markdown, passage)) + len(_JOINT)
        if size - len(_JOINT) <= room and len(taken) < MAX_PASSAGES:
            taken.append(passage)
            room -= size
    if ranked and not taken:
        return _show_part(markdown, ranked[0], max_chars)
    joined: list[MatchedPassage] = []
    for passage in sorted(taken, key=lambda passage: passage.start):
        last = joined[-1] if joined else None
        gap = markdown[last.end : passage.start] if last else ""
        if last and last.section == passage.section and len(gap) <= _GAP_CHARS and not gap.strip():
            joined[-1] = replace(last, end=passage.end)
        else:
            joined.append(passage)
    text = _JOINT.join(_show(markdown, passage) for passage in joined)
    return ShownPassages(text, tuple(joined), len(taken))


def _show(markdown: str, passage: MatchedPassage) -> str:
    return f"{_head(markdown, passage)}{markdown[passage.start : passage.end].strip()}"


def _head(markdown: str, passage: MatchedPassage) -> str:
    """Return the lines before a passage: its position, and the header of its table if cut off."""
    place = f"[{passage.section}, {passage.start}-{passage.end}]\n"
    if passage.kind is not BlockKind.TABLE or passage.start == passage.block:
        return place
    rows = markdown[passage.block : passage.block + _TABLE_HEAD_CHARS].split("\n", 2)
    return f"{place}{rows[0]}\n{rows[1]}\n" if len(rows) > 2 else place


def _show_part(markdown: str, passage: MatchedPassage, max_chars: int) -> ShownPassages:
    """Return the beginning of a passage that is too long; a cut code block is closed."""
    head = _head(markdown, passage) if max_chars >= _HEADED_CHARS else ""
    first_line = markdown[passage.start : passage.end].partition("\n")[0]
    fence = _FENCE.search(first_line)
    closing = f"\n{fence[0] if fence else ''}" if passage.kind is BlockKind.CODE else ""
    room = max_chars - len(head) - len(closing)
    if room < 1:
        head, closing, room = "", "", max_chars
    block = MarkdownBlock(passage.kind, passage.start, passage.end)
    end = find_cut(markdown[: passage.end], [block], passage.start, room)
    text = f"{head}{markdown[passage.start : end].rstrip()}{closing}"
    return ShownPassages(text, (replace(passage, end=end),), 1, is_cut=True)


# Error messages of tools are cut at a thousand characters.
_LISTED_CHARS = 500
# The approximate size of a block and a heading in memory.
_BLOCK_BYTES, _HEADING_BYTES = 100, 250
# A structure is cached if it is small, or takes at most so many times the memory of its text.
_SMALL_STRUCTURE_BYTES, _MAX_STRUCTURE_SHARE = 4 * 1024, 4
_STRUCTURE = "structure"
_MARKDOWN_NAMES = (".md", ".mdx", ".markdown", "/llms.txt", "/llms-full.txt")


@dataclass(frozen=True, slots=True)
class TextStructure:
    """The blocks of a markdown text and the outline that its headings make."""

    blocks: Sequence[MarkdownBlock]
    outline: tuple[OutlineHeading, ...]

    @classmethod
    def of(cls, markdown: str, *, has_headings: bool) -> "TextStructure":
        """Find the structure of a text."""
        blocks = find_blocks(markdown, has_headings=has_headings)
        return cls(blocks, find_outline(markdown, blocks))

    @property
    def memory_bytes(self) -> int:
        """Its approximate size in memory."""
        return len(self.blocks) * _BLOCK_BYTES + len(self.outline) * _HEADING_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentView:
    """A part of a text, and the outline of the whole."""

    excerpt: Excerpt
    outline: tuple[OutlineHeading, ...] = ()
    section: OutlineHeading | None = None
    """The section, if one was requested."""
    passages: tuple[MatchedPassage, ...] | None = None
    """The passages that match the query, in order; None if there was no query."""
    notices: tuple[str, ...] = ()
    """Sentences about the excerpt."""
    has_more: bool = False
    """Whether passages were left out."""


def has_headings(document: Document) -> bool:
    """Whether `# …` is a heading in a document's text: in plain text it is a comment.

    Some servers send markdown as plain text; its file name identifies it then.
    """
    if document.content_type.partition(";")[0].strip().lower() != "text/plain":
        return True
    path = document.final_url.partition("?")[0].partition("#")[0].lower()
    return path.endswith(_MARKDOWN_NAMES)


def structure_of(document: Document) -> TextStructure:
    """Return the structure of a document's markdown, which is cached with the document.

    A structure that takes far more memory than its text is computed each time.
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


def read_document(document: Document, window: TextWindow) -> DocumentView:
    """Return the part of a document's markdown that a window selects.

    Raises:
        InvalidRequest: it has no such section.
    """
    return _read(document.content.markdown or "", structure_of(document), window)


def read_markdown(markdown: str, window: TextWindow, *, has_headings: bool = True) -> DocumentView:
    """Return the part of a text that a window selects.

    Raises:
        InvalidRequest: it has no such section.
    """
    return _read(markdown, TextStructure.of(markdown, has_headings=has_headings), window)


def _read(markdown: str, structure: TextStructure, window: TextWindow) -> DocumentView:
    blocks, outline = structure.blocks, structure.outline
    section = None
    if window.section is not None:
        section = find_heading(outline, window.section)
        if section is None:
            offer = _offer(outline, window.section)
            message = f"The page has no section {window.section[:100]!r}. {offer}"
            raise InvalidRequest(problems=(FieldProblem("section", message),))
    start, end = (section.start, section.end) if section else (0, len(markdown))
    if window.query is not None:
        return _read_passages(markdown, structure, section, window)
    first = min(start + window.start, end)
    # Only blocks of the section: text after it does not matter for the cut.
    last = find_cut(markdown[:end], blocks, first, window.max_chars)
    begin = describe_begin(markdown, blocks, first)
    return DocumentView(
        excerpt=Excerpt(markdown[first:last], first - start, end - start),
        outline=outline,
        section=section,
        notices=(f"{begin}.",) if begin and last > first else (),
    )


def take_markdown(markdown: str, window: TextWindow) -> Excerpt:
    """Return the part of a text in the window, cut between blocks or sentences."""
    return read_markdown(markdown, window).excerpt


def _offer(outline: Sequence[OutlineHeading], section: str) -> str:
    if not outline:
        return "It has no text at all."
    nearest = nearest_ids(outline, section)
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


def _read_passages(
    markdown: str, structure: TextStructure, section: OutlineHeading | None, window: TextWindow
) -> DocumentView:
    query = window.query or ""
    start, end = (section.start, section.end) if section else (0, len(markdown))
    first = bisect_left(structure.blocks, start, key=lambda block: block.start)
    last = bisect_left(structure.blocks, end, key=lambda block: block.start)
    blocks = structure.blocks[first:last]
    found = find_passages(markdown, blocks, structure.outline, query)
    shown = show_passages(markdown, found, window.max_chars)
    where = f"section {section.id!r}" if section else "the text"
    if found:
        matches = f"{len(found)} passages match" if len(found) > 1 else "One passage matches"
        cut = f"; the best {shown.count} are shown" if shown.count < len(found) else ""
        notices = [f"{matches} the query in {where}{cut}."]
    else:
        notices = [
            f"Nothing in {where} matches {query[:100]!r}: try other words, or choose a section "
            "from the outline."
        ]
    if blocks and blocks[-1].end - blocks[0].start > SEARCHED_CHARS:
        notices.append(f"Only the first {SEARCHED_CHARS} characters were searched.")
    return DocumentView(
        excerpt=Excerpt(shown.text, 0, len(shown.text)),
        outline=structure.outline,
        section=section,
        passages=shown.passages,
        notices=tuple(notices),
        has_more=shown.is_cut or shown.count < len(found),
    )


def page_as_json(document: Document, max_chars: int) -> tuple[dict[str, Json], list[str]]:
    """Return a page's content as structured data, and the names of the parts that were cut.

    Metadata and outline take at most a quarter of the room each. Sections, tables, links and
    JSON-LD follow, as far as there is room.
    """
    content = document.content
    page: dict[str, Json] = {"url": document.url, "title": (content.metadata.title or "")[:1_000]}
    whole = describe_metadata(content.metadata)
    page["metadata"] = fitting = fit_members(whole, max_chars // 4)
    cut = [] if fitting == whole else ["metadata"]
    markdown = content.markdown or ""
    structure = structure_of(document)
    sections: list[Json] = []
    is_shortened = False
    for section in split_sections(markdown, structure.outline):
        text = section.text
        if len(text) > max_chars // 2:
            text = take_markdown(text, TextWindow(0, max_chars // 2)).text
            is_shortened = True
        sections.append(
            {"id": section.id, "level": section.level, "title": section.title, "text": text}
        )
    parts: dict[str, list[Json]] = {
        "outline": [describe_heading(heading) for heading in structure.outline],
        "sections": sections,
        "tables": list(find_tables(markdown, structure.blocks)),
        "links": list(content.links or ()),
        "jsonLd": list(content.metadata.json_ld),
    }
    for name, items in parts.items():
        room = max_chars - json_chars(page) - json_chars(name) - 4
        page[name] = shown = fit_items(
            items, min(room, max_chars // 4) if name == "outline" else room
        )
        if len(shown) < len(items):
            cut.append(name)
    if is_shortened and "sections" not in cut:
        cut.append("sections")
    return page, cut


def describe_heading(heading: OutlineHeading) -> dict[str, Json]:
    """Return a heading as JSON: its id, rank and title, and its section's position and size."""
    return {
        "id": heading.id,
        "level": heading.level,
        "title": heading.title,
        "start": heading.start,
        "chars": heading.chars,
        "tokens": heading.tokens,
    }


def describe_metadata(metadata: PageMetadata) -> dict[str, Json]:
    """Return a page's metadata as JSON, without empty values."""
    shown: dict[str, Json] = {
        "description": metadata.description,
        "language": metadata.language,
        "author": metadata.author,
        "publishDate": metadata.published,
        "modifiedDate": metadata.modified,
        "canonical": metadata.canonical,
        "siteName": metadata.site_name,
        "keywords": list(metadata.keywords),
        "images": list(metadata.images),
        "openGraph": dict(metadata.open_graph),
    }
    return {name: value for name, value in shown.items() if value}
