"""The parsed page."""

import pytest

from cinder.extract.html_tree import detach, document_base, join_address, parse_address, parse_html


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
    assert parse_address(text) is None


def test_an_address_that_cannot_be_joined_is_none() -> None:
    base = parse_address("https://example.com")
    assert join_address(base, "//host:99999999/") is None
