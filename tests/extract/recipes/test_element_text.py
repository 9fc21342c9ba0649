"""What an element says: its text, an attribute, or the part between two texts."""

import pytest

from cinder.extract.fields.flat_page import Element, FlatPage
from cinder.extract.fields.gathering import flatten_page
from cinder.extract.html_tree import parse_html
from cinder.extract.recipes.element_text import cuts_around, label_before, read_element
from cinder.model.recipe import Locator


def first(html: str, tag: str) -> tuple[FlatPage, Element]:
    page = flatten_page(parse_html(html))
    return page, next(each for each in page.elements if each.tag == tag)


@pytest.mark.parametrize(
    ("locator", "expected"),
    [
        (Locator(selector="i"), "about $5 each"),
        (Locator(selector="i", attribute="title"), "a price"),
        (Locator(selector="i", attribute="lang"), None),
        (Locator(selector="i", before="about", after="each"), "$5"),
        (Locator(selector="i", before="exactly"), None),
        (Locator(selector="i", after="together"), None),
        (Locator(selector="i", label="costs"), "about $5 each"),
        (Locator(selector="i", label="weighs"), None),
    ],
)
def test_an_element_says_what_its_locator_means(locator: Locator, expected: str | None) -> None:
    page, element = first("<p>Costs: <i title=' a  price '>about\n $5 each</i></p>", "i")
    assert read_element(page, element, locator) == expected


@pytest.mark.parametrize(
    ("html", "label"),
    [
        ("<table><tr><th>Made  by</th><td>x</td></tr></table>", "made by"),
        ("<p>Weight: <td>", ""),
        ("<table><tr><td>Colour: red</td><td>x</td></tr></table>", ""),
        ("<table><tr><td>Colour: red</td></tr><tr><td>y</td></tr></table>", ""),
        ("<table><tr><th>Room 12</th><td>x</td></tr></table>", ""),
    ],
)
def test_a_label_is_the_short_text_right_before(html: str, label: str) -> None:
    page = flatten_page(parse_html(html))
    cells = [each for each in page.elements if each.tag == "td"]
    assert (label_before(page, cells[-1]) if cells else "") == label


@pytest.mark.parametrize(
    ("text", "part", "cuts"),
    [
        ("Weight: 2 kg", "2 kg", [("Weight: ", ""), ("Weight: ", "")]),
        ("by Ada on Monday", "Ada", [("by ", " on Monday"), ("by ", "")]),
        ("Rated 4.5/5", "4.5", [("Rated ", "")]),
        ("12 of 40 left", "40", [("of ", " left"), ("of ", "")]),
        ("A7", "A7", []),
        ("7/8", "8", []),
        ("x" * 300 + " 5", "5", []),
        ("none of it", "5", []),
    ],
)
def test_the_words_around_a_part_are_those_that_may_recur(
    text: str, part: str, cuts: list[tuple[str, str]]
) -> None:
    found = [(before.strip(), after.strip()) for before, after in cuts_around(text, part)]
    expected = [(before.strip(), after.strip()) for before, after in cuts]
    assert [each for each in found if any(each)] == expected
