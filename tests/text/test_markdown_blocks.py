"""tests.text.test_markdown_blocks"""

from hypothesis import given
from hypothesis import strategies as st

from cinder.text.markdown_blocks import BlockKind, find_blocks

MARKDOWN = """Before
two lines

# One #

## C#
- first
  and on
- second

  ```python
  # not a heading
  | no | table |
  ```

| a | b |
| --- | --- |
| 1 | 2 |

> ```
> quoted
not code

Underlined
---------

\\# escaped

    # indented
~~~
```
# inside
~~~
"""


def kinds(markdown: str) -> list[tuple[BlockKind, str]]:
    return [(block.kind, markdown[block.start : block.end]) for block in find_blocks(markdown)]


def test_a_text_is_told_apart_into_blocks() -> None:
    assert kinds(MARKDOWN) == [
        (BlockKind.PARAGRAPH, "Before\ntwo lines"),
        (BlockKind.HEADING, "# One #"),
        (BlockKind.HEADING, "## C#"),
        (BlockKind.LIST_ITEM, "- first\n  and on"),
        (BlockKind.LIST_ITEM, "- second"),
        (BlockKind.CODE, "  ```python\n  # not a heading\n  | no | table |\n  ```"),
        (BlockKind.TABLE, "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        (BlockKind.CODE, "> ```\n> quoted"),
        (BlockKind.PARAGRAPH, "not code"),
        (BlockKind.HEADING, "Underlined\n---------"),
        (BlockKind.PARAGRAPH, "\\# escaped"),
        (BlockKind.PARAGRAPH, "    # indented"),
        (BlockKind.CODE, "~~~\n```\n# inside\n~~~"),
    ]


def test_headings_have_a_level_and_a_title_without_marks() -> None:
    headings = [block for block in find_blocks(MARKDOWN) if block.kind is BlockKind.HEADING]
    assert [(heading.level, heading.title) for heading in headings] == [
        (1, "One"),
        (2, "C#"),
        (2, "Underlined"),
    ]


def test_a_fence_closes_only_by_one_as_long_and_bare() -> None:
    code = "````\n```\n```` more\n# no\n````"
    assert kinds(f"{code}\n# yes") == [(BlockKind.CODE, code), (BlockKind.HEADING, "# yes")]


def test_a_fence_that_is_never_closed_reaches_to_the_end() -> None:
    assert kinds("```\n# no\n\n# no") == [(BlockKind.CODE, "```\n# no\n\n# no")]


def test_backticks_on_one_line_are_no_fence() -> None:
    assert kinds("```x``` is inline\n# Yes")[0] == (BlockKind.PARAGRAPH, "```x``` is inline")


def test_settings_at_the_head_of_a_file_are_no_heading() -> None:
    assert kinds("---\ntitle: A\n---\n# B") == [
        (BlockKind.CODE, "---\ntitle: A\n---"),
        (BlockKind.HEADING, "# B"),
    ]


def test_a_rule_beneath_several_lines_makes_no_heading() -> None:
    assert [kind for kind, _ in kinds("one\ntwo\n---")] == [BlockKind.PARAGRAPH]


@given(st.text(alphabet="#|`~->=1. \t\na"))
def test_blocks_are_in_order_and_hold_every_character_that_is_not_white(text: str) -> None:
    position = 0
    for block in find_blocks(text):
        assert position <= block.start < block.end <= len(text)
        assert not text[position : block.start].strip()
        position = block.end
    assert not text[position:].strip()


def test_a_text_without_headings_has_paragraphs_instead() -> None:
    blocks = find_blocks("# a comment\n\nText\n====\n", has_headings=False)
    assert {block.kind for block in blocks} == {BlockKind.PARAGRAPH}
