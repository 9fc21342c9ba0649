"""Tables without rules."""

from cinder.extract.pdf.aligned_tables import Row, take_aligned_tables
from cinder.extract.pdf.layout import Style, Word
from cinder.extract.pdf.lines import split_rows, split_segments
from cinder.extract.pdf.tables import Table
from tests.extract.pdf.words import grid, line


def rows(words: list[Word]) -> list[Row]:
    return [split_segments(row) for row in split_rows(words)]


def column(texts: list[str], left: float, style: Style | None = None) -> list[Word]:
    return [
        word
        for index, text in enumerate(texts)
        for word in line(text, left, 100 + 12 * index, style=style)
    ]


def test_cells_below_one_another_make_a_table() -> None:
    words = column(["Wood", "Oak", "Pine"], 40) + column(["Hours", "9", "3"], 200)
    (table,) = take_aligned_tables(rows(words))
    assert isinstance(table, Table)
    assert grid(table.rows) == [["Wood", "Hours"], ["Oak", "9"], ["Pine", "3"]]


def test_a_cell_of_two_lines_stays_one() -> None:
    words = column(["Wood", "Oak", "Pine"], 40) + column(["Remark", "burns", "spits"], 200)
    words += line("a lot", 200, 136)
    words += line("Elm", 40, 148) + line("smokes", 200, 148)
    (table,) = take_aligned_tables(rows(words))
    assert isinstance(table, Table)
    assert grid(table.rows)[2:] == [["Pine", "spits a lot"], ["Elm", "smokes"]]


def test_prose_and_lists_and_listings_are_none() -> None:
    prose = column(["a line of prose"] * 3, 40)
    listed = column(["1.", "2.", "3."], 40) + column(["one", "two", "three"], 70)
    code = Style(is_monospaced=True)
    listing = column(["-a", "-b", "-c"], 40, code) + column(["all", "best", "cut"], 200, code)
    for words in (prose, listed, listing):
        assert take_aligned_tables(rows(words)) == rows(words)


def test_two_rows_are_too_few() -> None:
    words = column(["Wood", "Oak"], 40) + column(["Hours", "9"], 200)
    assert not any(isinstance(item, Table) for item in take_aligned_tables(rows(words)))
