"""The blocks whose changes are told: those of a markdown text, each row of a table by itself."""

from dataclasses import dataclass

from cinder.extract.reading.blocks import BlockKind, find_blocks

_MAX_SECTION_CHARS = 200


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, heading, list item, table row or code block, and the heading it is under."""

    kind: BlockKind
    section: str
    text: str


def split_blocks(markdown: str) -> list[Block]:
    """Return the blocks of a markdown text, in order."""
    blocks: list[Block] = []
    section = ""
    for found in find_blocks(markdown):
        if found.kind is BlockKind.HEADING:
            section = found.title[:_MAX_SECTION_CHARS]
        text = markdown[found.start : found.end]
        parts = text.split("\n") if found.kind is BlockKind.TABLE else [text]
        blocks += [Block(found.kind, section, part.strip()) for part in parts]
    return blocks
