"""The blocks of a markdown text."""

from cinder.extract.changes.text_blocks import Block, split_blocks
from cinder.extract.reading.blocks import BlockKind

TEXT = """Before all.

# Fires

A paragraph
of two lines.
## Wood
| Wood | Hours |
| --- | --- |
- oak
  and ash
1. birch

```sh
# not a heading

| not a row
```
After."""


def test_each_paragraph_item_row_and_code_block_is_a_block_under_its_heading() -> None:
    assert split_blocks(TEXT) == [
        Block(BlockKind.PARAGRAPH, "", "Before all."),
        Block(BlockKind.HEADING, "Fires", "# Fires"),
        Block(BlockKind.PARAGRAPH, "Fires", "A paragraph\nof two lines."),
        Block(BlockKind.HEADING, "Wood", "## Wood"),
        Block(BlockKind.TABLE, "Wood", "| Wood | Hours |"),
        Block(BlockKind.TABLE, "Wood", "| --- | --- |"),
        Block(BlockKind.LIST_ITEM, "Wood", "- oak\n  and ash"),
        Block(BlockKind.LIST_ITEM, "Wood", "1. birch"),
        Block(BlockKind.CODE, "Wood", "```sh\n# not a heading\n\n| not a row\n```"),
        Block(BlockKind.PARAGRAPH, "Wood", "After."),
    ]


def test_code_without_an_end_is_one_block() -> None:
    assert split_blocks("```\na\n\nb") == [Block(BlockKind.CODE, "", "```\na\n\nb")]


def test_a_long_heading_is_a_section_by_its_beginning() -> None:
    heading, text = split_blocks(f"# {'a' * 1_000}\n\nb")
    assert heading.section == text.section == "a" * 200
