"""Running heads and feet."""

from cinder.documents.pdf.headings import drop_running_text
from cinder.documents.pdf.layout import PageLayout
from cinder.documents.pdf.reading_order import PageLines, TextLine, read_lines
from tests.documents.pdf.words import line


def make_page(number: int, head: str, foot: str = "") -> PageLines:
    words = line(head, 40, 40) + line(f"the text of page {'abcdefgh'[number]}", 40, 400)
    words += line(foot, 300, 780)
    return read_lines(PageLayout(number, 800, tuple(words)))


def texts(pages: list[PageLines]) -> list[list[str]]:
    return [
        [item.segment.text for item in page.items if isinstance(item, TextLine)] for page in pages
    ]


def test_what_stands_on_three_pages_is_left_out() -> None:
    pages = [make_page(n, "The Handbook", f"Page {n} of 9") for n in range(1, 4)]
    assert texts(drop_running_text(pages)) == [[f"the text of page {x}"] for x in "bcd"]


def test_a_head_that_changes_is_told_by_its_number() -> None:
    heads = ["12 Fire", "Ash 13", "14 Soot", "Coal 15"]
    pages = [make_page(n, head) for n, head in enumerate(heads, 2)]
    assert texts(drop_running_text(pages)) == [[f"the text of page {x}"] for x in "cdef"]


def test_what_differs_from_page_to_page_stays() -> None:
    pages = [make_page(n, head) for n, head in enumerate(("Fire burns", "Ash", "Soot"), 1)]
    assert [page[0] for page in texts(drop_running_text(pages))] == ["Fire burns", "Ash", "Soot"]


def test_of_two_pages_both_must_have_it() -> None:
    pages = [make_page(1, "Head", "a"), make_page(2, "Head", "b")]
    assert texts(drop_running_text(pages)) == [
        ["the text of page b", "a"],
        ["the text of page c", "b"],
    ]


def test_a_single_page_has_no_running_text() -> None:
    pages = [make_page(1, "1")]
    assert drop_running_text(pages) == pages


def make_body_page(number: int, *lines: str, first: float = 50, step: float = 12) -> PageLines:
    words = line("The Handbook", 40, 24)
    for place, text in enumerate(lines):
        words += line(text, 40, first + place * step)
    words += line(f"the text of page {'abcdefgh'[number]}", 40, 400)
    return read_lines(PageLayout(number, 800, tuple(words)))


def test_what_repeats_below_a_heading_is_of_the_body() -> None:
    headings = ("Fire", "Ash", "Soot")
    pages = [
        make_body_page(n, heading, "Answer each question below.", step=30)
        for n, heading in enumerate(headings, 1)
    ]
    assert [page[:2] for page in texts(drop_running_text(pages))] == [
        [heading, "Answer each question below."] for heading in headings
    ]


def test_a_repeated_paragraph_keeps_its_beginning() -> None:
    paragraph = [f"line {x} of what repeats" for x in "abcdef"]
    pages = [make_body_page(n, *paragraph) for n in range(1, 4)]
    assert [page[:-1] for page in texts(drop_running_text(pages))] == [paragraph] * 3


def test_a_repeated_line_at_the_end_of_the_text_stays() -> None:
    pages = [
        read_lines(
            PageLayout(
                n,
                800,
                tuple(
                    line(f"what {'abcdefgh'[n]} says", 40, 740)
                    + line("is all there is", 40, 752)
                    + line(f"- {n} -", 300, 780)
                ),
            )
        )
        for n in range(1, 4)
    ]
    assert [page[-1] for page in texts(drop_running_text(pages))] == ["is all there is"] * 3
