"""Finding the elements that a grounded value came from."""

import pytest

from cinder.extraction.flat_page import FlatPage, PageElement
from cinder.extraction.page_candidates import flatten_page
from cinder.extraction.recipes.element_text import (
    NodeFinder,
    cuts_around,
    label_before,
    read_element,
)
from cinder.html.tree import parse_html
from cinder.models.document import Json
from cinder.models.extraction import Evidence, FieldValue, Grounding, Method, QuotedText
from cinder.models.recipe import Locator


def first(html: str, tag: str) -> tuple[FlatPage, PageElement]:
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


def places(html: str, value: Json, quote: str, markdown: str = "", at: int = -1) -> list[str]:
    page = flatten_page(parse_html(html))
    evidence = Evidence(
        method=Method.MODEL,
        quote=quote,
        grounding=Grounding.VERIFIED,
        text=QuotedText.MARKDOWN if at >= 0 else None,
        start=at if at >= 0 else None,
        end=at + len(quote) if at >= 0 else None,
    )
    found = NodeFinder(page, markdown).nodes_of(
        FieldValue(path=("x",), value=value, evidence=(evidence,))
    )
    return [
        f"{each.element.tag}#{each.element.attributes.get('id') or ''}@{each.attribute}"
        for each in found
    ]


def test_the_innermost_element_comes_first_and_those_that_hold_nothing_else() -> None:
    html = "<div id=a><p id=b><b id=c>Brass lamp</b></p><p>More</p></div>"
    assert places(html, "Brass lamp", "Brass lamp") == ["b#c@", "p#b@"]


def test_white_space_and_marks_of_markdown_do_not_matter() -> None:
    html = "<p id=a>Brass \n <b>lamp</b></p><p>More</p>"
    assert places(html, "Brass lamp", "Brass **lamp**") == ["p#a@"]


def test_of_equal_texts_the_one_comes_first_whose_surroundings_are_alike() -> None:
    html = "<p id=a>Before it was <b id=b>20</b> euros</p><p>Now it is <b id=c>20</b> euros</p>"
    markdown = "Before it was **20** euros\n\nNow it is **20** euros"
    second = markdown.rindex("20")
    assert places(html, 20, "20", markdown, second)[0] == "b#c@"
    assert places(html, 20, "20", markdown, markdown.index("20"))[0] == "b#b@"


def test_a_part_of_a_longer_word_is_none() -> None:
    assert places("<p id=a>Lamps</p><p id=b>420</p>", "Lamp", "Lamp") == []
    assert places("<p id=a>Lamps</p><p id=b>420</p>", 20, "20") == []


def test_elements_without_a_gap_and_units_end_a_word() -> None:
    html = "<p><span>Weight</span><span id=a>20kg</span></p>"
    assert places(html, 20, "20") == ["span#a@"]


def test_attributes_say_values_too() -> None:
    html = "<p><a id=a href='/files/1.pdf'>Manual</a></p>"
    assert places(html, "https://shop.example/files/1.pdf", "/files/1.pdf") == ["a#a@href"]
    assert places(html, "https://shop.example/files/1.pdf", "manual") == ["a#a@href"]


def test_only_some_places_are_looked_at() -> None:
    assert len(places("<p>20</p>" * 5_000, 20, "20")) == 6
