"""The parsed page."""

import pytest

from cinder.html.tree import Elements, detach, document_base, join_url, parse_html, parse_http_url

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


@pytest.mark.parametrize(
    "text", ["", " ", "\0", "<", "<frameset><frame src=x></frameset>", "\ud800"]
)
def test_any_text_has_a_tree(text: str) -> None:
    assert parse_html(text).root is not None


def test_detaching_nested_elements_in_any_order_is_safe() -> None:
    tree = parse_html("<div><p>a<b>b</b></p></div><i>c</i>")
    outer, inner = tree.css("div"), tree.css("b")
    detach([*outer, *inner, *outer])
    assert tree.body is not None
    assert tree.body.html == "<body><i>c</i></body>"


def test_the_root_element_stays() -> None:
    tree = parse_html("<p>x")
    detach(tree.css("html"))
    assert tree.body is not None


def test_a_relative_base_element_is_relative_to_the_page() -> None:
    base = document_base(parse_html("<base href=../x/>"), "https://example.com/a/b/c")
    assert base is not None
    assert base.href == "https://example.com/a/x/"


def test_a_page_without_a_web_address_has_no_base() -> None:
    assert document_base(parse_html("<p>"), "") is None


@pytest.mark.parametrize("text", ["http://[", "x" * 10_000, "mailto:a@b.c", "relative"])
def test_what_is_no_web_address_does_not_parse(text: str) -> None:
    assert parse_http_url(text) is None


def test_an_address_that_cannot_be_joined_is_none() -> None:
    base = parse_http_url("https://example.com")
    assert join_url(base, "//host:99999999/") is None
