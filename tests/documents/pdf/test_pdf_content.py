"""What a PDF says about itself."""

import re

import pytest
from fpdf import FPDF

from cinder.documents.pdf.pdf_content import extract_pdf, normalise_pdf_date
from cinder.errors import Unsupported
from cinder.models.document import Extraction, PageMetadata
from cinder.models.request import ExtractOptions, Format
from cinder.text.markdown_blocks import find_blocks
from cinder.text.outline import find_outline, find_tables
from tests.site.documents import (
    CHAPTERS,
    HANDBOOK_PAGES,
    NO_PAGES,
    TOPICS,
    broken,
    encrypted,
    handbook,
    leaflet,
    scanned,
)

URL = "https://fires.example/papers/a.pdf"

LEAFLET = """<!-- page 1 -->

# Ember care

Cover the coals with a thick layer of ash before you go to bed, and keep a well-known well-known \
rule: < 5 cm & no \\*more\\*

## In the morning

1. Rake the ash aside
2. Lay kindling
3. Give it air

| Wood | Hours | Heat |
| --- | --- | --- |
| Oak | 9 | high |
| Pine | 3 | low |

```
def stoke(fire):
    return fire + air
```

A sentence begins on this page and ends on the next.

<!-- page 2 -->"""


def extract(body: bytes, *formats: Format, max_pages: int = 200) -> Extraction:
    options = ExtractOptions(formats=formats or (Format.MARKDOWN,))
    return extract_pdf(body, url=URL, options=options, max_pages=max_pages)


def markdown_of(pdf: FPDF) -> str:
    return extract(bytes(pdf.output())).markdown or ""


def new_page() -> FPDF:
    pdf = FPDF(unit="pt")
    pdf.add_page()
    pdf.set_font("Times", "", 11)
    return pdf


def test_a_small_document_is_written_to_the_letter() -> None:
    found = extract(leaflet())
    assert found.markdown == LEAFLET
    assert found.warnings == ()
    assert found.text is None
    assert found.metadata.title == "Ember care"


def test_the_same_document_gives_the_same_html() -> None:
    html = extract(leaflet(), Format.HTML).html or ""
    assert html.startswith("<!-- page 1 -->\n\n<h1>Ember care</h1>\n<p>Cover the coals")
    assert "<ol><li>Rake the ash aside</li><li>Lay kindling</li>" in html
    assert "<tr><td>Oak</td><td>9</td><td>high</td></tr>" in html


def test_headings_have_the_levels_of_their_sizes() -> None:
    markdown = extract(handbook()).markdown or ""
    headings = find_outline(markdown, find_blocks(markdown))
    outline = [(heading.level, heading.title) for heading in headings if heading.level]
    expected = []
    for chapter, name in enumerate(CHAPTERS):
        expected.append((1, f"{chapter + 1} {name}"))
        for part, topic in enumerate(TOPICS, 1):
            expected.append((2, f"{chapter + 1}.{part} {topic} {name.lower()}"))
            if part != 2:
                page = chapter * 5 + part + 1
                expected.append((3, f"In short: {topic.lower()} on page {page}"))
    assert outline == expected


def test_every_ruled_table_is_found() -> None:
    markdown = extract(handbook()).markdown or ""
    tables = find_tables(markdown, find_blocks(markdown))
    pages = [page for page in range(1, HANDBOOK_PAGES + 1) if page % 5 in (2, 4)]
    assert tables == [
        [
            ["Wood", "Hours", "Remark"],
            [f"Oak {page}", "9", "burns long and evenly"],
            [f"Pine {page}", "3", "spits"],
        ]
        for page in pages
    ]


def test_running_heads_and_page_numbers_are_left_out() -> None:
    markdown = extract(handbook()).markdown or ""
    assert "Handbook" not in markdown
    assert "of 30" not in markdown


def test_columns_are_read_one_after_the_other() -> None:
    pages = (extract(handbook()).markdown or "").split("<!-- page ")
    sides = re.findall(r"The (left|right) column of page 3 has line (\d+)", pages[3])
    assert sides == [(side, str(n)) for side in ("left", "right") for n in range(20)]


def test_links_and_what_the_file_says_of_itself_come_along() -> None:
    found = extract(handbook(), Format.LINKS, Format.IMAGES)
    assert found.links == tuple(
        f"https://fires.example/archive?page={page}" for page in range(1, HANDBOOK_PAGES, 5)
    )
    assert found.images == ()
    assert found.markdown is None
    assert found.word_count > 3_000
    assert found.metadata == PageMetadata(
        title="The Stoker's Handbook",
        description="How to keep a fire.",
        language="en-GB",
        author="Ada Stoker",
        published="2025-11-15T18:30:00+00:00",
        keywords=("fire", "ash", "ember"),
        page_count=HANDBOOK_PAGES,
    )


def test_a_link_stands_in_the_text_that_it_lies_on() -> None:
    markdown = extract(handbook(), max_pages=1).markdown or ""
    link = "[archive of fires](https://fires.example/archive?page=1)"
    assert f"More stands in the {link} of the town." in markdown


def test_pages_beyond_the_limit_are_counted_in_a_warning() -> None:
    found = extract(handbook(), max_pages=3)
    assert (found.markdown or "").count("<!-- page ") == 3
    assert found.warnings[0].startswith("Of 30 pages the first 3 were parsed")
    assert not found.is_partial


def test_characters_beyond_the_limit_make_it_partial_and_more_pages_are_not_advised() -> None:
    found = extract_pdf(handbook(), url=URL, options=ExtractOptions(), max_pages=200, max_chars=100)
    assert found.is_partial
    assert found.warnings[0].startswith("Of 30 pages the first 1 were parsed")
    assert "maxPages" not in found.warnings[0]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (encrypted(), "password"),
        (broken(), "broken"),
        (leaflet()[:200], "broken"),
        (NO_PAGES, "broken"),
        (b"<html>Sign in</html>", "is not one"),
        (b"", "is not one"),
    ],
)
def test_a_file_that_cannot_be_opened_says_why_and_what_to_do(body: bytes, problem: str) -> None:
    with pytest.raises(Unsupported, match=problem) as caught:
        extract(body)
    assert "without `parsers`" in caught.value.message


def test_pictures_of_pages_have_no_text_and_that_is_said() -> None:
    found = extract(scanned())
    assert found.empty_evidence == "no text layer; 3 pages of images, 3 in all"
    assert found.warnings == (f"The PDF has no text to take out: {found.empty_evidence}.",)
    assert (found.word_count, found.markdown) == (
        0,
        "<!-- page 1 -->\n\n<!-- page 2 -->\n\n<!-- page 3 -->",
    )


def test_text_that_nobody_sees_is_left_out_and_counted() -> None:
    pdf = new_page()
    pdf.text(50, 50, "Seen")
    pdf.text(-300, 50, "Outside")
    pdf.set_font("Times", "", 1)
    pdf.text(50, 90, "Tiny")
    found = extract(bytes(pdf.output()))
    assert found.markdown == "<!-- page 1 -->\n\nSeen"
    assert found.warnings[0].startswith("11 characters that cannot be seen")


def test_a_mark_in_the_text_cannot_pass_for_a_page() -> None:
    pdf = new_page()
    pdf.text(50, 50, "Then <!-- page 7 --> came")
    assert markdown_of(pdf) == "<!-- page 1 -->\n\nThen (page 7) came"


def test_a_page_on_its_side_is_read_upright() -> None:
    pdf = new_page()
    with pdf.rotation(90, 100, 400):
        pdf.text(100, 400, "First line of the page,")
        pdf.text(100, 414, "second line of it.")
    assert markdown_of(pdf).endswith("First line of the page, second line of it.")


def test_lists_nest_by_their_indent() -> None:
    pdf = new_page()
    for left, top, text in ((50, 50, "outer"), (70, 64, "inner"), (50, 78, "outer again")):
        pdf.text(left, top, f"- {text}")
    assert markdown_of(pdf).endswith("- outer\n  - inner\n- outer again")


def test_bullets_that_are_drawn_make_lists() -> None:
    pdf = new_page()
    for top, text in ((50, "first"), (64, "second")):
        pdf.circle(42, top - 4, 2, style="F")
        pdf.text(50, top, text)
    assert markdown_of(pdf).endswith("- first\n- second")


def test_words_divided_at_the_end_of_a_line_are_joined() -> None:
    pdf = new_page()
    pdf.text(50, 50, "The well-known rule is that a divided word is put toge-")
    pdf.text(50, 64, "ther, and that this one stays well-")
    pdf.text(50, 78, "known, as does Anglo-")
    pdf.text(50, 92, "Saxon.")
    assert "is put together, and that this one stays well-known, as" in markdown_of(pdf)
    assert "Anglo-Saxon" in markdown_of(pdf)


def test_pages_and_their_text_are_the_same_each_time() -> None:
    assert extract(handbook()) == extract(handbook())


@pytest.mark.parametrize(
    ("raw", "date"),
    [
        ("D:20251115183000+01'00'", "2025-11-15T18:30:00+01:00"),
        ("D:20251115183000-05", "2025-11-15T18:30:00-05:00"),
        ("D:20251115183000Z", "2025-11-15T18:30:00+00:00"),
        ("20251115183000", "2025-11-15T18:30:00"),
        ("D:202511", "2025-11"),
        ("D:2025", "2025"),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates_are_as_exact_as_they_are_given(raw: str, date: str | None) -> None:
    assert normalise_pdf_date(raw) == date
