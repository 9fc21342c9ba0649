"""Tables as text: comma-separated values and their kin."""

import csv
from collections import Counter
from dataclasses import dataclass
from html import escape
from io import StringIO

MAX_ROWS = 1_000
_MAX_COLUMNS = 100
_DELIMITERS = (",", ";", "\t", "|")
_SAMPLED_ROWS = 30
# So many rows of another width than the first, and the text is no table.
_MAX_RAGGED = 0.1


@dataclass(frozen=True, slots=True)
class DelimitedTable:
    """The first rows of a table, its header before them, and how many there are in all."""

    header: list[str]
    rows: list[list[str]]
    row_count: int

    def to_html(self) -> str:
        """Return the table as HTML."""
        head = "".join(f"<th>{_cell(text)}</th>" for text in self.header)
        body = "".join(
            f"<tr>{''.join(f'<td>{_cell(text)}</td>' for text in row)}</tr>" for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def read_delimited(text: str, language: str) -> DelimitedTable | None:
    """Return the table that a text is; None where its rows do not make one."""
    delimiter = "\t" if language == "tsv" else _find_delimiter(text)
    try:
        return _read(text.removeprefix("\ufeff"), delimiter)
    except csv.Error:
        return None


def _read(text: str, delimiter: str) -> DelimitedTable | None:
    header: list[str] = []
    rows: list[list[str]] = []
    count = ragged = 0
    for row in csv.reader(StringIO(text, newline=""), delimiter=delimiter):
        if not any(row):
            continue
        if not header:
            header = row
            continue
        count += 1
        ragged += len(row) != len(header)
        if len(rows) < MAX_ROWS:
            rows.append(_to_width(row, len(header)))
    is_table = 2 <= len(header) <= _MAX_COLUMNS and rows and ragged <= _MAX_RAGGED * count
    return DelimitedTable(header, rows, count) if is_table else None


def _find_delimiter(text: str) -> str:
    """Return the mark that divides the first lines into equally many parts, and most."""
    lines = [line for line in text[:65_536].splitlines()[:_SAMPLED_ROWS] if line.strip()]

    def evenness(delimiter: str) -> tuple[int, int]:
        counts = Counter(line.count(delimiter) for line in lines)
        number, lines_with_it = counts.most_common(1)[0] if counts else (0, 0)
        return (lines_with_it, number) if number else (0, 0)

    return max(_DELIMITERS, key=evenness)


def _to_width(row: list[str], width: int) -> list[str]:
    """Return a row as wide as the header; what is beyond it stays in the last cell."""
    if len(row) <= width:
        return row + [""] * (width - len(row))
    return [*row[: width - 1], " ".join(row[width - 1 :])]


def _cell(text: str) -> str:
    return escape(text.strip(), quote=False).replace("\r\n", "\n").replace("\n", "<br>")
