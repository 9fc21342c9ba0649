"""tests.text.test_passages_pieces"""

from cinder.text.passages import CHUNK_CHARS, split_chunks

ROWS = [f"| Kettle {number} | {number} euros |" for number in range(200)]
TABLE = "\n".join(["| Thing | Price |", "| --- | --- |", *ROWS])


def texts(markdown: str) -> list[str]:
    return [markdown[piece.start : piece.end] for piece in split_chunks(markdown)]


def test_short_blocks_of_a_section_are_one_piece_under_its_headings() -> None:
    markdown = (
        "# Tea\n\n" + "Water boils. " * 40 + "\n\n## Kettles\n\nOne of iron.\n\n- One of tin."
    )
    first, second = split_chunks(markdown)
    assert (first.heading, second.heading) == ("Tea", "Tea > Kettles")
    assert markdown[second.start : second.end] == "## Kettles\n\nOne of iron.\n\n- One of tin."


def test_sections_of_a_line_each_are_gathered() -> None:
    markdown = "\n\n".join(
        f"### Person {number}\n\nBorn in {1900 + number}." for number in range(8)
    )
    assert texts(markdown) == [markdown]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    markdown = "The kettle sings on the hob. " * 200
    pieces = texts(markdown)
    assert "".join(pieces).strip() == markdown.strip()
    assert all(len(piece) <= CHUNK_CHARS for piece in pieces)
    assert all(piece.strip().endswith("hob.") for piece in pieces)


def test_a_long_table_is_cut_between_rows_and_keeps_its_head_beside() -> None:
    pieces = split_chunks(f"Prices:\n\n{TABLE}\n\nThe end.")
    tables = [piece for piece in pieces if piece.context]
    assert len(tables) >= 3
    assert {piece.context for piece in tables} == {"| Thing | Price |\n| --- | --- |"}
    rows = [row for text in texts(TABLE) for row in text.strip().split("\n")]
    assert rows[2:] == ROWS


def test_only_a_row_beyond_all_measure_is_cut() -> None:
    long_row = f"| {'word ' * 1_000}|"
    assert any(long_row in piece for piece in texts(f"{TABLE}\n{long_row}"))
    monstrous = f"| {'word ' * 10_000}|"
    pieces = texts(f"| A |\n| --- |\n{monstrous}")
    assert "".join(pieces) == f"| A |\n| --- |\n{monstrous}"
    assert max(map(len, pieces)) <= 6_000


def test_nothing_is_left_out_of_a_text_of_all_kinds() -> None:
    code = "```python\n" + "burn(oak)\n" * 300 + "```"
    markdown = f"# A\n\nText.\n\n{code}\n\n{TABLE}\n\n" + "- item\n" * 400
    held = "".join(texts(markdown))
    assert "".join(held.split()) == "".join(markdown.split())


def test_deep_and_many_headings_stay_short() -> None:
    markdown = "\n\n".join(
        f"{'#' * (1 + n % 6)} {'long title ' * 30}{n}\n\nText." for n in range(60)
    )
    assert max(len(piece.heading) for piece in split_chunks(markdown)) <= 301
