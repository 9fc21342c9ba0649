"""Tables whose cells are ruled."""

from cinder.extract.pdf.layout import Rule
from cinder.extract.pdf.ruled_tables import find_ruled_tables
from tests.extract.pdf.words import grid, line, page

LEVELS = tuple(Rule(y, 40, 340) for y in (100.0, 120.0, 140.0))
UPRIGHTS = tuple(Rule(x, 100, 140) for x in (40.0, 190.0, 340.0))
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
    level = tuple(Rule(y, x, x + 150) for y in (100, 120.5, 119.5, 140) for x in (40, 190))
    upright = tuple(Rule(x, y, y + 20) for x in (40, 190, 190.5, 340) for y in (100, 120))
    tables, _ = find_ruled_tables(page(WORDS, level, upright))
    assert [grid(table.rows) for table in tables] == [CELLS]


def test_a_cell_over_two_columns_keeps_its_words_together() -> None:
    words = [*line("A title across both of them", 100, 95), *WORDS]
    level = (Rule(80, 40, 340), *LEVELS)
    upright = (Rule(40, 80, 140), Rule(190, 100, 140), Rule(340, 80, 140))
    tables, _ = find_ruled_tables(page(words, level, upright))
    assert grid(tables[0].rows) == [["A title across both of them", ""], *CELLS]


def test_a_cell_over_two_rows_stands_in_the_first() -> None:
    words = [*line("Wood", 45, 125), *line("Hours", 200, 115), *line("by night", 200, 135)]
    level = (Rule(100, 40, 340), Rule(120, 190, 340), Rule(140, 40, 340))
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
    level = (Rule(100, 40, 340), Rule(145, 40, 340))
    upright = tuple(Rule(x, 100, 145) for x in (40.0, 190.0, 340.0))
    tables, _ = find_ruled_tables(page(words, level, upright))
    assert grid(tables[0].rows) == [["Oak", "9"], ["Pine", "3"], ["Ash", "7"]]


def test_a_box_around_a_paragraph_is_no_table() -> None:
    words = line("A note in a box of its own", 45, 115)
    box = (Rule(100, 40, 340), Rule(140, 40, 340)), (Rule(40, 100, 140), Rule(340, 100, 140))
    assert find_ruled_tables(page(words, *box)) == ([], words)


def test_a_drawing_of_many_lines_is_no_table() -> None:
    level = tuple(Rule(4.0 * n, 0, 500) for n in range(400))
    upright = tuple(Rule(4.0 * n, 0, 700) for n in range(400))
    assert find_ruled_tables(page(WORDS, level, upright)) == ([], WORDS)
