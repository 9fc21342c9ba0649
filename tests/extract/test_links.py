"""The links and images of a page."""

from cinder.extract.html_tree import parse_address, parse_html
from cinder.extract.links import collect_images, collect_links

BASE = parse_address("https://example.com/dir/page")


def test_links_are_absolute_and_unique_in_document_order() -> None:
    tree = parse_html(
        "<a href=b>1</a><a href=/a>2</a><map><area href=/c></map><a href=./b>3</a>"
        "<a href=https://other.org>4</a>"
    )
    assert collect_links([tree.css("body")[0]], BASE) == (
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
    assert collect_links([tree.css("body")[0]], BASE) == ("https://example.com/a#z",)


def test_images_are_web_addresses() -> None:
    tree = parse_html("<img src=a.png><img src='data:image/png;base64,AA'><img><img src=a.png>")
    assert collect_images([tree.css("body")[0]], BASE) == ("https://example.com/dir/a.png",)
