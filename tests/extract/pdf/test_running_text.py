"""Running heads and feet."""

from cinder.extract.pdf.layout import PageLayout
from cinder.extract.pdf.page_lines import Line, PageLines, read_lines
from cinder.extract.pdf.running_text import drop_running_text
from tests.extract.pdf.words import line


def make_page(number: int, head: str, foot: str = "") -> PageLines:
    words = line(head, 40, 40) + line(f"the text of page {'abcdefgh'[number]}", 40, 400)
    words += line(foot, 300, 780)
    return read_lines(PageLayout(number, 600, 800, tuple(words)))


def texts(pages: list[PageLines]) -> list[list[str]]:
    return [[item.segment.text for item in page.items if isinstance(item, Line)] for page in pages]


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
