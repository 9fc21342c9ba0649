"""Where two sequences differ."""

import random

import pytest

from cinder.models.saved import BlockChange, BlockChangeKind, Comparison, TextDiff
from cinder.text.diff import (
    MAX_BLOCK_CHANGES,
    MAX_LINE_CHARS,
    MAX_LINES,
    MAX_UNIFIED_CHARS,
    DiffBlock,
    DiffSpan,
    compare_texts,
    differing_spans,
    split_blocks,
)
from cinder.text.markdown_blocks import BlockKind

BEFORE = """# Fires

Cover the coals with ash.

## Wood

| Wood | Hours |
| --- | --- |
| Oak | 9 |
| Birch | 5 |

- rake
- blow

The end."""


@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("a b", "a b"), ("a  b\n\nc \n", "a b\nc"), ("a\u00a0b", "a b")]
)
def test_white_space_makes_no_difference(before: str, after: str) -> None:
    assert compare_texts(before, after) == Comparison(is_same=True)


def test_a_difference_is_told_line_by_line_and_block_by_block() -> None:
    after = (
        BEFORE.replace("| 9 |", "| 10 |")
        .replace("- blow", "- blow\n- wait")
        .replace("The end.", "")
    )
    assert compare_texts(BEFORE, after) == Comparison(
        is_same=False,
        diff=TextDiff(
            unified="\n".join(
                [
                    "--- previous",
                    "+++ current",
                    "@@ -6,10 +6,10 @@",
                    " ",
                    " | Wood | Hours |",
                    " | --- | --- |",
                    "-| Oak | 9 |",
                    "+| Oak | 10 |",
                    " | Birch | 5 |",
                    " ",
                    " - rake",
                    " - blow",
                    "+- wait",
                    " ",
                    "-The end.",
                ]
            ),
            blocks=(
                BlockChange(
                    kind=BlockChangeKind.CHANGED,
                    section="Wood",
                    before="| Oak | 9 |",
                    after="| Oak | 10 |",
                ),
                BlockChange(kind=BlockChangeKind.REMOVED, section="Wood", before="The end."),
                BlockChange(kind=BlockChangeKind.ADDED, section="Wood", after="- wait"),
            ),
        ),
    )


def test_changes_far_apart_are_hunks_of_their_own() -> None:
    lines = [f"line {n}" for n in range(40)]
    after = "\n".join(["new", *lines[:30], "line thirty", *lines[31:]])
    diff = compare_texts("\n".join(lines), after).diff
    assert diff is not None
    hunks = [line for line in diff.unified.splitlines() if line.startswith("@@")]
    assert hunks == ["@@ -1,3 +1,4 @@", "@@ -28,7 +29,7 @@"]


def test_a_paragraph_that_was_rewritten_in_part_is_one_change_among_others() -> None:
    before = "Oak burns long and slow.\n\nBirch is quick to light.\n\nPine spits."
    after = "Ash needs no drying.\n\nOak burns very long and slow.\n\nBirch is quick to catch."
    diff = compare_texts(before, after).diff
    assert diff is not None
    assert [str(change.kind) for change in diff.blocks] == [
        "added",
        "changed",
        "changed",
        "removed",
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a" * 1_000_000, "b"),
        ("\n\n".join(str(n) for n in range(MAX_BLOCK_CHANGES + 1)), "x"),
        ("x\n" * (MAX_LINES + 1), "y"),
        ("\n".join(f"{n}" * 40 for n in range(MAX_LINES)), "x"),
    ],
    ids=["a long line", "many blocks", "many lines", "much text"],
)
def test_what_is_left_out_of_a_long_difference_is_said(before: str, after: str) -> None:
    diff = compare_texts(before, after).diff
    assert diff is not None
    assert diff.is_cut
    assert len(diff.unified) <= MAX_UNIFIED_CHARS
    assert len(diff.blocks) <= MAX_BLOCK_CHANGES
    assert all(len(change.before or "") <= MAX_LINE_CHARS + 4 for change in diff.blocks)


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
        DiffBlock(BlockKind.PARAGRAPH, "", "Before all."),
        DiffBlock(BlockKind.HEADING, "Fires", "# Fires"),
        DiffBlock(BlockKind.PARAGRAPH, "Fires", "A paragraph\nof two lines."),
        DiffBlock(BlockKind.HEADING, "Wood", "## Wood"),
        DiffBlock(BlockKind.TABLE, "Wood", "| Wood | Hours |"),
        DiffBlock(BlockKind.TABLE, "Wood", "| --- | --- |"),
        DiffBlock(BlockKind.LIST_ITEM, "Wood", "- oak\n  and ash"),
        DiffBlock(BlockKind.LIST_ITEM, "Wood", "1. birch"),
        DiffBlock(BlockKind.CODE, "Wood", "```sh\n# not a heading\n\n| not a row\n```"),
        DiffBlock(BlockKind.PARAGRAPH, "Wood", "After."),
    ]


def test_code_without_an_end_is_one_block() -> None:
    assert split_blocks("```\na\n\nb") == [DiffBlock(BlockKind.CODE, "", "```\na\n\nb")]


def test_a_long_heading_is_a_section_by_its_beginning() -> None:
    heading, text = split_blocks(f"# {'a' * 1_000}\n\nb")
    assert heading.section == text.section == "a" * 200


def replayed(before: list[str], after: list[str]) -> list[str]:
    """Return what becomes of `before` when every differing stretch is replaced."""
    made: list[str] = []
    place = 0
    for span in differing_spans(before, after):
        made += before[place : span.before_start] + after[span.after_start : span.after_end]
        place = span.before_end
    return made + before[place:]


def test_equal_sequences_differ_nowhere() -> None:
    assert differing_spans(["a", "b"], ["a", "b"]) == []
    assert differing_spans([], []) == []


def test_what_is_new_gone_or_replaced_is_found_between_what_stays() -> None:
    before = list("abcde")
    after = list("aXbcYe")
    assert differing_spans(before, after) == [DiffSpan(1, 1, 1, 2), DiffSpan(3, 4, 4, 5)]


@pytest.mark.parametrize("seed", range(20))
def test_replacing_the_stretches_makes_one_sequence_the_other(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        before = chance.choices("abcdefgh", k=chance.randrange(20))
        after = chance.choices("abcdefgh", k=chance.randrange(20))
        assert replayed(before, after) == after


def test_sequences_that_repeat_themselves_are_no_burden() -> None:
    # Some seconds at most where the usual algorithms take hours: the test's own time is the limit.
    before = ["a", "b"] * 100_000
    after = ["b", "a"] * 100_000
    assert replayed(before, after) == after
    shuffled = random.Random(1).sample([str(n) for n in range(100_000)], 100_000)
    assert replayed(sorted(shuffled), shuffled) == shuffled
