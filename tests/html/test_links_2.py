"""The links of a page."""

from cinder.html.links import collect_links
from cinder.html.tree import Elements, parse_html, parse_http_url

BASE = parse_http_url("https://example.com/dir/page")


def test_links_are_absolute_and_unique_in_document_order() -> None:
    tree = parse_html(
        "<a href=b>1</a><a href=/a>2</a><map><area href=/c></map><a href=./b>3</a>"
        "<a href=https://other.org>4</a>"
    )
    assert collect_links([Elements.of_page(tree)], BASE) == (
        "https://example.com/dir/b",
        "https://example.com/a",
        "https://example.com/c",
        "https://other.org/",
    )


def test_links_that_lead_nowhere_else_are_left_out() -> None:
    tree = parse_html(
        "<a href=#x>1</a><a href=''>2</a><a href=mailto:a@b.c>3</a><a href=javascript:x>4</a>"
        "<a href=https://example.com/dir/page#y>5</a><a href=/a#z>6</a><a href='http://['>7</a>"
    )
    assert collect_links([Elements.of_page(tree)], BASE) == ("https://example.com/a#z",)


def test_a_drawing_links_as_well() -> None:
    tree = parse_html("<svg><a xlink:href='/drawn'><text>1</text></a></svg>")
    assert collect_links([Elements.of_page(tree)], BASE) == ("https://example.com/drawn",)
