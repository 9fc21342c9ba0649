"""Reading order."""

from cinder.documents.pdf.layout import Segment
from cinder.documents.pdf.reading_order import split_columns
from tests.documents.pdf.words import line

PROSE = "some words of prose to fill it"


def segments(count: int, left: float, top: float, name: str) -> list[Segment]:
    return [Segment(tuple(line(f"{name}{n} {PROSE}", left, top + 12 * n))) for n in range(count)]


def order(placed: list[Segment]) -> list[str]:
    regions = split_columns(placed)
    return [
        item.words[0].text for region in regions for item in region if isinstance(item, Segment)
    ]


def test_columns_below_a_line_across_are_read_one_by_one() -> None:
    across = Segment(tuple(line(f"title {PROSE} {PROSE}", 40, 80)))
    left, right = segments(5, 40, 100, "l"), segments(5, 250, 100, "r")
    expected = ["title", *[f"l{n}" for n in range(5)], *[f"r{n}" for n in range(5)]]
    assert order([*right, across, *left]) == expected


def test_columns_above_a_line_across_end_there() -> None:
    above = segments(4, 40, 100, "l") + segments(4, 250, 100, "r")
    across = Segment(tuple(line(f"middle {PROSE} {PROSE}", 40, 160)))
    below = segments(4, 40, 180, "m") + segments(4, 250, 180, "s")
    names = [name[0] for name in order([*above, across, *below])]
    assert "".join(names) == "llllrrrrmmmmmssss"


def test_what_stands_below_both_columns_comes_after_them() -> None:
    columns = segments(5, 40, 100, "l") + segments(4, 250, 100, "r")
    below = [Segment(tuple(line(f"b{n}", 40, 180 + 12 * n))) for n in range(5)]
    assert "".join(name[0] for name in order([*below, *columns])) == "lllllrrrrbbbbb"


def test_three_columns_are_read_one_by_one() -> None:
    placed = [s for n in range(3) for s in segments(5, 40 + 220 * n, 100, "abc"[n])]
    assert "".join(name[0] for name in order(placed)) == "aaaaabbbbbccccc"


def test_short_cells_beside_one_another_are_no_columns() -> None:
    cells = [Segment(tuple(line("9", left, 100 + 12 * n))) for left in (40, 300) for n in range(8)]
    assert len(split_columns(cells)) == 1
