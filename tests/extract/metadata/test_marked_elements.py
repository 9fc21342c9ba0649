"""The elements whose markup says that they hold the author or the date."""

import pytest

from cinder.extract.elements import Elements
from cinder.extract.html_tree import parse_html
from cinder.extract.metadata.marked_elements import Marks, Role


def marked(html: str, role: Role) -> list[str]:
    tree = parse_html(html)
    return [
        mark.element.text() for mark in Marks(Elements.of_page(tree), tree.css_first("h1")).of(role)
    ]


def test_the_surest_come_first_then_those_next_to_the_heading() -> None:
    html = (
        "<p class=author>before</p><h2>x</h2><p class=author>just before</p>"
        "<h1>Fires</h1><p class=byline>line</p><p class=author>behind</p>"
        "<p class=author-name>name</p><p itemprop=author>sure</p>"
    )
    assert marked(html, Role.AUTHOR) == [
        *("sure", "name", "behind", "just before", "before", "line"),
    ]


def test_dates_are_told_apart_by_the_words_around_them() -> None:
    html = (
        "<h1>Fires</h1><div class=lastUpdated><time>changed</time></div><p class=postDate>date</p>"
        "<time class=published>published</time><p class=candidate>no</p>"
    )
    assert marked(html, Role.PUBLISHED) == ["published", "date"]
    assert marked(html, Role.MODIFIED) == ["changed"]


@pytest.mark.parametrize("place", ["div class=comments", "div class=related", "footer", "aside"])
def test_marks_of_other_things_than_the_page_do_not_count(place: str) -> None:
    html = f"<h1>Fires</h1><h2>More</h2><{place}><p class=author>x</p><time>y</time>"
    assert marked(html, Role.AUTHOR) == []
    assert marked(html, Role.PUBLISHED) == []


def test_the_head_of_the_page_is_its_own_wherever_it_stands() -> None:
    html = "<div class=card><h1>Fires</h1><p class=author>x</p></div>"
    assert marked(html, Role.AUTHOR) == ["x"]


def test_a_page_of_marks_is_read_only_so_far() -> None:
    assert len(marked("<h1>Fires</h1>" + "<p class=author>x</p>" * 10_000, Role.AUTHOR)) < 200
