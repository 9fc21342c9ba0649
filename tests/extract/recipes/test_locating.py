"""Finding the elements that a proved value came from."""

from cinder.extract.fields.gathering import flatten_page
from cinder.extract.html_tree import parse_html
from cinder.extract.recipes.locating import PlaceFinder
from cinder.model.document import Json
from cinder.model.extracted_data import Evidence, FieldValue, Grounding, Method, QuotedText


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
    found = PlaceFinder(page, markdown).places_of(
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
