"""Tables as text."""

import pytest

from cinder.extract.plain.delimited import MAX_ROWS, DelimitedTable, read_delimited


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("a,b\n1,2\n", "csv"),
        ("\ufeffa;b\r\n1;2\r\n\r\n", "csv"),
        ("a\tb\n1\t2", "tsv"),
        ("a|b\n1|2", "csv"),
    ],
)
def test_the_delimiter_is_found(text: str, language: str) -> None:
    assert read_delimited(text, language) == DelimitedTable(["a", "b"], [["1", "2"]], 1)


def test_quoted_cells_keep_their_lines_and_marks() -> None:
    table = read_delimited('a,b\n"x,\ny",<i>\n', "csv")
    assert table is not None
    assert "<td>x,<br>y</td><td>&lt;i&gt;</td>" in table.to_html()


def test_rows_beyond_the_limit_are_counted() -> None:
    table = read_delimited("a,b\n" + "1,2\n" * (MAX_ROWS + 5), "csv")
    assert table is not None
    assert (len(table.rows), table.row_count) == (MAX_ROWS, MAX_ROWS + 5)


@pytest.mark.parametrize(
    "text",
    ["", "a,b\n", "just words\nin lines\n", "a,b\n1\n1,2,3\n", "a,b\n" + "x" * 200_000 + ",1"],
)
def test_what_is_no_table_is_none(text: str) -> None:
    assert read_delimited(text, "csv") is None
