"""Reads a document's markdown: whole, one section, passages for a query, or as JSON."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from textwrap import dedent

from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.document import Document, Json, LinkDetail, PageMetadata
from cinder.services.excerpt import Excerpt, TextWindow, fit_items, fit_members, json_chars
from cinder.text.markdown_blocks import BlockKind, CodeFence, MarkdownBlock, find_blocks
from cinder.text.outline import OutlineHeading as OutlineHeading
from cinder.text.outline import (
    find_heading,
    find_outline,
    find_tables,
    nearest_ids,
    split_sections,
)
from cinder.text.passages import describe_begin, find_cut
from cinder.text.query_passages import SEARCHED_CHARS, MatchedPassage, find_passages
from cinder.text.sentences import shorten_links

_JOINT = "\n\n"
# Passages with a smaller gap are joined: a heading of their own would be longer than the gap.
_GAP_CHARS = 12
_TITLE_CHARS = 100
# With less room than this, a passage has no heading.
_HEADED_CHARS = 100
_FENCE = re.compile(r"`{3,}|~{3,}")
_KINDS_OF_LINES = (BlockKind.TABLE, BlockKind.CODE)


@dataclass(frozen=True, slots=True)
class ShownPassages:
    """Passages and their text."""

    text: str
    passages: tuple[MatchedPassage, ...]
    count: int
    """The number of passages before neighbours were joined."""
    is_cut: bool = False
    """Whether the only passage was too long to be shown whole."""


def show_passages(
    markdown: str,
    outline: Sequence[OutlineHeading],
    ranked: Sequence[MatchedPassage],
    max_chars: int,
    skipped: int = 0,
) -> ShownPassages:
    """Return the text of the best passages, at most so many characters, in the text's order.

    Args:
        markdown: the whole text.
        outline: of the text.
        ranked: the passages, the best first.
        max_chars: the room for them.
        skipped: how many passages earlier answers of the same size showed.
    """
    printer = _PassagePrinter(markdown, outline)
    taken: list[MatchedPassage] = []
    while ranked and not taken:
        chosen = printer.choose(ranked, max_chars) or [ranked[0]]
        taken = chosen[skipped:]
        skipped = max(0, skipped - len(chosen))
        shown = {passage.start for passage in chosen}
        ranked = [passage for passage in ranked if passage.start not in shown]
    if not taken:
        return ShownPassages("", (), 0)
    if printer.size(taken[0]) > max_chars:
        return printer.show_part(taken[0], max_chars)
    groups: list[list[MatchedPassage]] = []
    for passage in sorted(taken, key=lambda passage: passage.start):
        if groups and printer.follows(groups[-1][-1], passage):
            groups[-1].append(passage)
        else:
            groups.append([passage])
    joined = tuple(replace(group[0], end=group[-1].end) for group in groups)
    return ShownPassages(_JOINT.join(map(printer.show, groups)), joined, len(taken))


class _PassagePrinter:
    """Shows passages with their positions, titles and the lines that define them."""

    def __init__(self, markdown: str, outline: Sequence[OutlineHeading]) -> None:
        self._markdown = markdown
        self._titles = {heading.id: heading.title[:_TITLE_CHARS] for heading in outline}

    def choose(self, ranked: Sequence[MatchedPassage], max_chars: int) -> list[MatchedPassage]:
        """Return the passages that fit, the best first."""
        in_order = sorted(ranked, key=lambda passage: passage.start)
        before = {
            after.start: first for first, after in pairwise(in_order) if self.follows(first, after)
        }
        taken: dict[int, MatchedPassage] = {}
        room = max_chars + len(_JOINT)
        for passage in ranked:
            if room <= len(_JOINT):
                break
            first = before.get(passage.start)
            is_joined = first is not None and first.start in taken
            size = self.size(passage, is_joined=is_joined) + len(_JOINT)
            if size <= room:
                taken[passage.start] = passage
                room -= size
        return list(taken.values())

    def follows(self, first: MatchedPassage, after: MatchedPassage) -> bool:
        """Whether a passage comes right after another one of the same section."""
        if first.section != after.section or not 0 <= after.start - first.end <= _GAP_CHARS:
            return False
        return not self._markdown[first.end : after.start].strip()

    def size(self, passage: MatchedPassage, *, is_joined: bool = False) -> int:
        """Return the most characters that a passage adds to the text."""
        # The end of passages that are joined may have a digit more.
        head = 0 if is_joined else len(self._head(passage)) + 1
        return head + len(self._body(passage)) + len(self._closing(passage))

    def show(self, group: Sequence[MatchedPassage]) -> str:
        """Return the text of passages that follow each other."""
        text = self._head(replace(group[0], end=group[-1].end)) + self._body(group[0])
        for first, passage in pairwise(group):
            is_split = first.block == passage.block and first.kind in _KINDS_OF_LINES
            text += ("\n" if is_split else _JOINT) + self._body(passage)
        return text + self._closing(group[-1])

    def show_part(self, passage: MatchedPassage, max_chars: int) -> ShownPassages:
        """Return the beginning of a passage that is too long; a cut code block is closed."""
        markdown = self._markdown
        head = self._head(passage) if max_chars >= _HEADED_CHARS else ""
        head = head if len(head) <= max_chars // 2 else ""
        fence = _FENCE.search(markdown, passage.block, passage.end)
        closing = f"\n{fence[0]}" if fence and passage.kind is BlockKind.CODE else ""
        room = max_chars - len(head) - len(closing)
        if room < 1:
            head, closing, room = "", "", max_chars
        block = MarkdownBlock(passage.kind, passage.start, passage.end)
        end = find_cut(markdown[: passage.end], [block], passage.start, room)
        text = f"{head}{markdown[passage.start : end].rstrip()}{closing}"
        return ShownPassages(text, (replace(passage, end=end),), 1, is_cut=True)

    def _head(self, passage: MatchedPassage) -> str:
        """Return the lines before a passage: its position, its heading, and what defines it."""
        markdown, title = self._markdown, self._titles.get(passage.section, "")
        has_title = not title or markdown.startswith("#", passage.start)
        lines = [f"[{passage.section}, {passage.start}-{passage.end}]"]
        lines[0] += "" if has_title else f" {title}"
        lines += [shorten_links(dedent(markdown[slice(*line)]).strip()) for line in passage.lines]
        return "\n".join([*lines, ""])

    def _body(self, passage: MatchedPassage) -> str:
        text = dedent(self._markdown[passage.start : passage.end]).strip("\n").rstrip()
        return text if passage.kind is BlockKind.CODE else shorten_links(text)

    def _closing(self, passage: MatchedPassage) -> str:
        """Return the end of a code block that a passage ends inside of."""
        markdown = self._markdown
        opening = CodeFence.opened_by(markdown[passage.block : passage.end].partition("\n")[0])
        if passage.kind is not BlockKind.CODE or opening is None:
            return ""
        last = markdown[passage.start : passage.end].rstrip().rpartition("\n")[2]
        return "" if opening.is_closed_by(last) else f"\n{opening.mark}"


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
    next_passage: int | None = None
    """The number of the passages up to here, if more match."""
    has_more: bool = False
    """Whether passages were left out."""

    @property
    def next_start(self) -> int | None:
        """The `start` of the window that continues here; None if nothing follows."""
        return self.excerpt.end if self.excerpt.was_truncated else self.next_passage


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
    last = find_cut(markdown[:end], blocks, first, window.chars_in(markdown))
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
    begins = [
        bisect_left(structure.blocks, at, key=lambda block: block.start) for at in (start, end)
    ]
    blocks = structure.blocks[slice(*begins)]
    found = find_passages(markdown, blocks, structure.outline, query)
    size = window.chars_in(markdown)
    shown = show_passages(markdown, structure.outline, found, size, window.start)
    where = f"section {section.id!r}" if section else "the text"
    last = window.start + shown.count
    if found:
        matches = f"{len(found)} passages match" if len(found) > 1 else "One passage matches"
        best = f"{window.start + 1} to {last}" if window.start else f"the best {last}"
        cut = f"; {best} are shown" if 0 < shown.count < len(found) else ""
        notices = [f"{matches} the query in {where}{cut if shown.count else '; no more follow'}."]
        if last < len(found):
            notices.append(f"Ask again with startIndex {last} for the next ones.")
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
        next_passage=last if last < len(found) else None,
        has_more=shown.is_cut or last < len(found),
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


def describe_links(details: Iterable[LinkDetail]) -> list[Json]:
    """Return links as JSON, without empty values."""
    return [
        {name: value for name in link.__slots__ if (value := getattr(link, name))}
        for link in details
    ]


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
