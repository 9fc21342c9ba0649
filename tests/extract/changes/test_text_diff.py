"""The difference of two texts."""

import pytest

from cinder.extract.changes.text_diff import (
    MAX_BLOCK_CHANGES,
    MAX_LINE_CHARS,
    MAX_LINES,
    MAX_UNIFIED_CHARS,
    compare_texts,
)
from cinder.model.change import BlockChange, BlockChangeKind, Comparison, TextDiff

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
