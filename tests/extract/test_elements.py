"""The elements of a page, found in one walk."""

import pytest

from cinder.extract.elements import Elements
from cinder.extract.html_tree import parse_html

PAGE = (
    "<html lang=en><head><title>t</title><meta name=a content=b></head>"
    "<body class='x y'><h2 id=1>a</h2><!-- c --><p class=z>b</p><h3 id=2 HIDDEN>c</h3>"
    "<h2 class=z>d</h2><svg><a xlink:href=/x>e</a></svg></body></html>"
)


@pytest.fixture
def elements() -> Elements:
    return Elements.of_page(parse_html(PAGE))


def test_elements_of_several_tags_come_in_document_order(elements: Elements) -> None:
    found = elements.nodes(elements.tagged("h3", "h2", "h6"))
    assert [node.text() for node in found] == ["a", "c", "d"]
    assert elements.tagged("h6") == []
    assert elements.have_tag("h6", "h3")
    assert not elements.have_tag("h6")


def test_comments_are_among_them(elements: Elements) -> None:
    assert len(elements.tagged("-comment")) == 1


def test_elements_are_found_by_the_attributes_they_have(elements: Elements) -> None:
    found = [elements.node(place).tag for place in elements.having("hidden", "lang", "xlink:href")]
    assert found == ["html", "h3", "a"]
    assert elements.having("style") == []
    assert elements.have_attribute("style", "hidden")
    assert not elements.have_attribute("style")
    assert elements.attributes(elements.tagged("meta")[0]) == {"name": "a", "content": "b"}


def test_elements_are_found_by_their_whole_class(elements: Elements) -> None:
    assert elements.classes == {"x y", "z"}
    assert [elements.node(place).tag for place in elements.classed({"z", "x"})] == ["p", "h2"]
    assert elements.classed(set()) == []


def test_a_part_of_them_leaves_out_what_stands_before(elements: Elements) -> None:
    body = elements.nodes(elements.tagged("body"))[0]
    part = elements.within(body)
    assert part.root.mem_id == body.mem_id
    assert part.tagged("title", "meta", "head") == []
    assert part.tagged("h2") == elements.tagged("h2")
    assert part.having("lang", "class") == elements.having("class")
    assert part.classed({"z"}) == elements.classed({"z"})


def test_what_is_none_of_them_is_no_part(elements: Elements) -> None:
    with pytest.raises(ValueError, match="not in list"):
        elements.within(parse_html("<body>").css("body")[0])


def test_they_stay_as_they_were_found(elements: Elements) -> None:
    (heading,) = elements.nodes(elements.tagged("h3"))
    del heading.attrs["hidden"]
    heading.decompose()
    assert [elements.node(place).tag for place in elements.having("hidden")] == ["h3"]
