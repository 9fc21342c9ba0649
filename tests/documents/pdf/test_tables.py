"""Tables without rules."""

from cinder.documents.pdf.layout import DrawnLine, Style, Word, split_rows, split_segments
from cinder.documents.pdf.tables import SegmentRow, Table, find_aligned_tables, find_ruled_tables
from tests.documents.pdf.words import grid, line, page

LEVELS = tuple(DrawnLine(y, 40, 340) for y in (100.0, 120.0, 140.0))
UPRIGHTS = tuple(DrawnLine(x, 100, 140) for x in (40.0, 190.0, 340.0))
WORDS = [
    *line("Wood", 45, 115),
    *line("Hours", 200, 115),
    *line("Old oak", 45, 135),
    *line("9", 200, 135),
]
CELLS = [["Wood", "Hours"], ["Old oak", "9"]]


def test_lines_that_cross_make_cells_and_leave_the_rest() -> None:
    beside = line("Before the table", 45, 50)
    tables, left = find_ruled_tables(page([*beside, *WORDS], LEVELS, UPRIGHTS))
    assert [grid(table.rows) for table in tables] == [CELLS]
    assert left == beside


def test_a_table_drawn_cell_by_cell_is_one() -> None:
    level = tuple(DrawnLine(y, x, x + 150) for y in (100, 120.5, 119.5, 140) for x in (40, 190))
    upright = tuple(DrawnLine(x, y, y + 20) for x in (40, 190, 190.5, 340) for y in (100, 120))
    tables, _ = find_ruled_tables(page(WORDS, level, upright))
    assert [grid(table.rows) for table in tables] == [CELLS]


def test_a_cell_over_two_columns_keeps_its_words_together() -> None:
    words = [*line("A title across both of them", 100, 95), *WORDS]
    level = (DrawnLine(80, 40, 340), *LEVELS)
    upright = (DrawnLine(40, 80, 140), DrawnLine(190, 100, 140), DrawnLine(340, 80, 140))
    tables, _ = find_ruled_tables(page(words, level, upright))
    assert grid(tables[0].rows) == [["A title across both of them", ""], *CELLS]


def test_a_cell_over_two_rows_stands_in_the_first() -> None:
    words = [*line("Wood", 45, 125), *line("Hours", 200, 115), *line("by night", 200, 135)]
    level = (DrawnLine(100, 40, 340), DrawnLine(120, 190, 340), DrawnLine(140, 40, 340))
    tables, _ = find_ruled_tables(page(words, level, UPRIGHTS))
    assert grid(tables[0].rows) == [["Wood", "Hours"], ["", "by night"]]


def test_level_rules_alone_make_a_table_of_what_stands_in_columns() -> None:
    tables, _ = find_ruled_tables(page(WORDS, LEVELS))
    assert [grid(table.rows) for table in tables] == [CELLS]


def test_rows_without_rules_between_them_are_told_by_their_first_column() -> None:
    rows = (("Oak", "9"), ("Pine", "3"), ("Ash", "7"))
    words = [
        word
        for index, (wood, hours) in enumerate(rows)
        for word in (*line(wood, 45, 115 + 12 * index), *line(hours, 200, 115 + 12 * index))
    ]
    level = (DrawnLine(100, 40, 340), DrawnLine(145, 40, 340))
    upright = tuple(DrawnLine(x, 100, 145) for x in (40.0, 190.0, 340.0))
    tables, _ = find_ruled_tables(page(words, level, upright))
    assert grid(tables[0].rows) == [["Oak", "9"], ["Pine", "3"], ["Ash", "7"]]


def test_a_box_around_a_paragraph_is_no_table() -> None:
    words = line("A note in a box of its own", 45, 115)
    box = (
        (DrawnLine(100, 40, 340), DrawnLine(140, 40, 340)),
        (DrawnLine(40, 100, 140), DrawnLine(340, 100, 140)),
    )
    assert find_ruled_tables(page(words, *box)) == ([], words)


def test_a_drawing_of_many_lines_is_no_table() -> None:
    level = tuple(DrawnLine(4.0 * n, 0, 500) for n in range(400))
    upright = tuple(DrawnLine(4.0 * n, 0, 700) for n in range(400))
    assert find_ruled_tables(page(WORDS, level, upright)) == ([], WORDS)


def rows(words: list[Word]) -> list[SegmentRow]:
    return [split_segments(row) for row in split_rows(words)]


def column(texts: list[str], left: float, style: Style | None = None) -> list[Word]:
    return [
        word
        for index, text in enumerate(texts)
        for word in line(text, left, 100 + 12 * index, style=style)
    ]


def test_cells_below_one_another_make_a_table() -> None:
    words = column(["Wood", "Oak", "Pine"], 40) + column(["Hours", "9", "3"], 200)
    (table,) = find_aligned_tables(rows(words))
    assert isinstance(table, Table)
    assert grid(table.rows) == [["Wood", "Hours"], ["Oak", "9"], ["Pine", "3"]]


def test_a_cell_of_two_lines_stays_one() -> None:
    words = column(["Wood", "Oak", "Pine"], 40) + column(["Remark", "burns", "spits"], 200)
    words += line("a lot", 200, 136)
    words += line("Elm", 40, 148) + line("smokes", 200, 148)
    (table,) = find_aligned_tables(rows(words))
    assert isinstance(table, Table)
    assert grid(table.rows)[2:] == [["Pine", "spits a lot"], ["Elm", "smokes"]]


def test_prose_and_lists_and_listings_are_none() -> None:
    prose = column(["a line of prose"] * 3, 40)
    listed = column(["1.", "2.", "3."], 40) + column(["one", "two", "three"], 70)
    code = Style(is_monospaced=True)
    listing = column(["-a", "-b", "-c"], 40, code) + column(["all", "best", "cut"], 200, code)
    for words in (prose, listed, listing):
        assert find_aligned_tables(rows(words)) == rows(words)


def test_two_rows_are_too_few() -> None:
    words = column(["Wood", "Oak"], 40) + column(["Hours", "9"], 200)
    assert not any(isinstance(item, Table) for item in find_aligned_tables(rows(words)))
