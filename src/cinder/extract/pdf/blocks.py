"""The blocks that a document's text is made of."""

from dataclasses import dataclass

from cinder.extract.pdf.layout import Word
from cinder.extract.pdf.tables import Table

Lines = list[tuple[Word, ...]]


@dataclass(slots=True)
class Heading:
    """A heading, h1 being level 1."""

    level: int
    lines: Lines


@dataclass(slots=True)
class Paragraph:
    """Lines of prose that belong together; `size` is their font's."""

    lines: Lines
    size: float = 0.0


@dataclass(slots=True)
class ListItem:
    """An entry of a list: how deep it is indented, and its number where it has one."""

    depth: int
    number: int | None
    lines: Lines


@dataclass(slots=True)
class Code:
    """Lines to be kept as they are."""

    lines: list[str]


Block = Heading | Paragraph | ListItem | Code | Table
