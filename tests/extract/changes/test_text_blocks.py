"""The blocks of a markdown text."""

from cinder.extract.changes.text_blocks import Block, shape_of, split_blocks

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
    assert split_blocks(TEXT.splitlines()) == [
        Block("", "Before all."),
        Block("Fires", "# Fires"),
        Block("Fires", "A paragraph\nof two lines."),
        Block("Wood", "## Wood"),
        Block("Wood", "| Wood | Hours |"),
        Block("Wood", "| --- | --- |"),
        Block("Wood", "- oak\n  and ash"),
        Block("Wood", "1. birch"),
        Block("Wood", "```sh\n# not a heading\n\n| not a row\n```"),
        Block("Wood", "After."),
    ]


def test_code_without_an_end_is_one_block() -> None:
    assert split_blocks(["```", "a", "", "b"]) == [Block("", "```\na\n\nb")]


def test_a_block_has_the_shape_it_begins_with() -> None:
    texts = ["# a", "- a", "12. a", "| a |", "~~~\na", "a"]
    shapes = ["heading", "item", "item", "row", "code", "paragraph"]
    assert [shape_of(text) for text in texts] == shapes
