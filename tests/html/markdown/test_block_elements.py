"""Tables that are too much."""

import pytest

from cinder.html.markdown.block_elements import normalise_tables
from cinder.html.markdown.conversion import to_markdown
from cinder.html.tree import parse_html


def test_spans_without_end_make_few_cells() -> None:
    body = parse_html(f"<table>{'<tr><td colspan=1000 rowspan=65534>a<td>b' * 2_000}").css("body")[
        0
    ]
    normalise_tables(body)
    assert len(body.css("td")) < 30_000


def test_a_few_long_rows_do_not_make_a_table_of_blanks() -> None:
    html = f"<table><tr>{'<td>x' * 5_000}{'<tr><td>y' * 5_000}"
    assert len(to_markdown(html)) < len(html)


@pytest.mark.parametrize("span", ["", "x", "-1", "1.5", "9" * 50, "²"])
def test_a_span_that_is_no_number_is_one(span: str) -> None:
    html = f'<table><tr><th>a<th>b<tr><td colspan="{span}">1<td>2</table>'
    assert to_markdown(html) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_tables_within_tables_end() -> None:
    assert "x" in to_markdown("<table><tr><th>x<td>" * 500)


def test_a_list_in_a_table_within_a_table_is_marked_once() -> None:
    inner = "<table><tr><th>c<th>d<tr><td><ul><li>x<li>y</ul><td>2</table>"
    markdown = to_markdown(f"<table><tr><th>a<th>b<tr><td>1<td>{inner}</table>")
    assert "- x<br>- y" in markdown
    assert "- - " not in markdown
