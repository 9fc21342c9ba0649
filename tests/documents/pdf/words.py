"""Words on a page, for tests that need no file."""

from cinder.documents.pdf.layout import Box, DrawnLine, PageLayout, Style, Word

SIZE = 10.0
_WIDTH = 5.0


def line(text: str, left: float, baseline: float, *, style: Style | None = None) -> list[Word]:
    """Return the words of a line, each letter five points wide."""
    words = []
    for text_word in text.split():
        right = left + _WIDTH * len(text_word)
        box = Box(left, baseline - 8, right, baseline + 2)
        words.append(Word(text_word, box, baseline, SIZE, style or Style()))
        left = right + 3
    return words


def page(
    words: list[Word], level: tuple[DrawnLine, ...] = (), upright: tuple[DrawnLine, ...] = ()
) -> PageLayout:
    return PageLayout(1, 800, tuple(words), level, upright)


def grid(table: tuple[tuple[tuple[Word, ...], ...], ...]) -> list[list[str]]:
    """Return a table's cells as texts."""
    return [[" ".join(word.text for word in cell) for cell in row] for row in table]
