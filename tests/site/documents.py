"""The PDF documents of the website, made anew by each test run."""

import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache

from fpdf import FPDF
from fpdf.enums import AccessPermission
from PIL import Image

MADE_AT = datetime(2025, 11, 15, 18, 30, tzinfo=UTC)
HANDBOOK_PAGES = 30
CHAPTERS = ("Kindling", "Hearths", "Fuel", "Draught", "Ash", "Safety")
TOPICS = ("Choosing", "Laying", "Tending", "Cleaning")

# A cross-reference table that leads nowhere, and a tree without pages.
NO_PAGES = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
)


class _Handbook(FPDF):
    """A document with a running head and a numbered foot."""

    def header(self) -> None:
        self.set_font("Helvetica", "I", 8)
        self.cell(0, 6, "The Stoker's Handbook", align="R")
        self.ln(12)

    def footer(self) -> None:
        self.set_y(-15)
        self.set_font("Helvetica", "", 8)
        self.cell(0, 6, f"Page {self.page_no()} of {HANDBOOK_PAGES}", align="C")

    def head(self, text: str, size: int) -> None:
        self.set_font("Helvetica", "B", size)
        self.multi_cell(0, size / 2, text, new_x="LMARGIN", new_y="NEXT")
        self.ln(2)

    def prose(self, text: str, width: float = 0) -> None:
        self.set_font("Times", "", 11)
        self.multi_cell(width, 5, text, new_x="LMARGIN", new_y="NEXT")
        self.ln(3)


@cache
def handbook() -> bytes:
    """Thirty pages: three levels of headings, tables, lists, links, pages of two columns."""
    pdf = _Handbook()
    pdf.set_title("The Stoker's Handbook")
    pdf.set_author("Ada Stoker")
    pdf.set_subject("How to keep a fire.")
    pdf.set_keywords("fire, ash; ember")
    pdf.set_lang("en-GB")
    pdf.set_creation_date(MADE_AT)
    for number in range(1, HANDBOOK_PAGES + 1):
        pdf.add_page()
        _fill(pdf, number)
    return bytes(pdf.output())


def _fill(pdf: _Handbook, number: int) -> None:
    chapter, part = divmod(number - 1, 5)
    name = CHAPTERS[chapter]
    if part == 0:
        pdf.head(f"{chapter + 1} {name}", 20)
        pdf.prose(f"This chapter is about {name.lower()} and what goes with it. " * 3)
        _link(pdf, number)
        return
    topic = TOPICS[part - 1]
    pdf.head(f"{chapter + 1}.{part} {topic} {name.lower()}", 15)
    if part == 2:
        _two_columns(pdf, number)
        return
    pdf.prose(f"Section {number} tells of {topic.lower()} {name.lower()} with care. " * 4)
    pdf.head(f"In short: {topic.lower()} on page {number}", 12)
    _table(pdf, number) if part % 2 else _list(pdf, number)


def _two_columns(pdf: _Handbook, number: int) -> None:
    top, width = pdf.get_y(), (pdf.epw - 10) / 2
    for column, side in enumerate(("left", "right")):
        pdf.set_xy(pdf.l_margin + column * (width + 10), top)
        pdf.set_font("Times", "", 11)
        lines = " ".join(f"The {side} column of page {number} has line {n}." for n in range(20))
        pdf.multi_cell(width, 5, lines)


def _table(pdf: _Handbook, number: int) -> None:
    pdf.set_font("Times", "", 11)
    with pdf.table() as table:
        for cells in (
            ("Wood", "Hours", "Remark"),
            (f"Oak {number}", "9", "burns long and evenly"),
            (f"Pine {number}", "3", "spits"),
        ):
            row = table.row()
            for cell in cells:
                row.cell(cell)


def _list(pdf: _Handbook, number: int) -> None:
    pdf.set_font("Times", "", 11)
    for item in (f"ash for page {number}", "a shovel", "patience"):
        pdf.cell(0, 5, f"\x95 {item}", new_x="LMARGIN", new_y="NEXT")


def _link(pdf: _Handbook, number: int) -> None:
    pdf.set_font("Times", "", 11)
    pdf.write(5, "More stands in the ")
    pdf.write(5, "archive of fires", f"https://fires.example/archive?page={number}")
    pdf.write(5, " of the town.")


@cache
def leaflet() -> bytes:
    """Two pages whose markdown is known to the letter."""
    pdf = FPDF()
    pdf.set_creation_date(MADE_AT)
    pdf.add_page()
    pdf.set_font("Helvetica", "B", 22)
    pdf.cell(0, 14, "Ember care", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("Times", "", 11)
    pdf.cell(0, 5, "Cover the coals with a thick layer of ash be-", new_x="LMARGIN", new_y="NEXT")
    pdf.cell(0, 5, "fore you go to bed, and keep a well-", new_x="LMARGIN", new_y="NEXT")
    pdf.cell(0, 5, "known well-known rule: < 5 cm & no *more*", new_x="LMARGIN", new_y="NEXT")
    pdf.ln(6)
    pdf.set_font("Times", "B", 11)
    pdf.cell(0, 5, "In the morning", new_x="LMARGIN", new_y="NEXT")
    pdf.ln(2)
    pdf.set_font("Times", "", 11)
    for line in ("1. Rake the ash aside", "2. Lay kindling", "3. Give it air"):
        pdf.cell(0, 5, line, new_x="LMARGIN", new_y="NEXT")
    pdf.ln(6)
    _aligned_columns(pdf)
    pdf.ln(6)
    pdf.set_font("Courier", "", 10)
    for line in ("def stoke(fire):", "    return fire + air"):
        pdf.cell(0, 5, line, new_x="LMARGIN", new_y="NEXT")
    pdf.ln(6)
    pdf.set_font("Times", "", 11)
    pdf.cell(0, 5, "A sentence begins on this page and", new_x="LMARGIN", new_y="NEXT")
    pdf.add_page()
    pdf.cell(0, 5, "ends on the next.", new_x="LMARGIN", new_y="NEXT")
    return bytes(pdf.output())


def _aligned_columns(pdf: FPDF) -> None:
    for cells in (("Wood", "Hours", "Heat"), ("Oak", "9", "high"), ("Pine", "3", "low")):
        for cell in cells:
            pdf.cell(40, 5, cell)
        pdf.ln(5)


@cache
def scanned() -> bytes:
    """Three pages that are pictures of pages."""
    pdf = FPDF()
    for _ in range(3):
        pdf.add_page()
        pdf.image(Image.new("L", (40, 60), 128), x=10, y=10, w=190)
    return bytes(pdf.output())


@cache
def encrypted() -> bytes:
    """A document that opens with a password only."""
    pdf = FPDF()
    pdf.set_encryption("owner", "reader", permissions=AccessPermission.none())
    pdf.add_page()
    pdf.set_font("Times", "", 11)
    pdf.cell(0, 5, "Nobody reads this.")
    return bytes(pdf.output())


@cache
def broken() -> bytes:
    """A document of which nothing but its first line arrived whole."""
    return b"%PDF-1.7\n" + bytes(range(256)) * 8


@cache
def bomb() -> bytes:
    """A page whose description is a gigabyte once it is unpacked."""
    chunk = zlib.compressobj(9)
    stream = b"".join(chunk.compress(b"q " * 500_000) for _ in range(1_000)) + chunk.flush()
    return (
        b"%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R>>endobj\n"
        b"4 0 obj<</Filter/FlateDecode/Length %d>>stream\n%s\nendstream endobj\n"
        b"trailer<</Root 1 0 R>>\n%%%%EOF" % (len(stream), stream)
    )


DOCUMENTS: dict[str, Callable[[], bytes]] = {
    "handbook.pdf": handbook,
    "leaflet.pdf": leaflet,
    "scanned.pdf": scanned,
    "encrypted.pdf": encrypted,
    "broken.pdf": broken,
    "bomb.pdf": bomb,
    "no-pages.pdf": lambda: NO_PAGES,
}
