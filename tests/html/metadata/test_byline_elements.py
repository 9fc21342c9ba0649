"""The texts in and around an element."""

import pytest
from selectolax.lexbor import LexborNode

from cinder.html.metadata.byline_elements import (
    ElementRole,
    HeadingContext,
    MarkedElements,
    nodes_within,
    texts_within,
)
from cinder.html.tree import Elements, parse_html


def marked(html: str, role: ElementRole) -> list[str]:
    tree = parse_html(html)
    return [
        mark.element.text()
        for mark in MarkedElements(Elements.of_page(tree), tree.css_first("h1")).of(role)
    ]


def test_the_surest_come_first_then_those_next_to_the_heading() -> None:
    html = (
        "<p class=author>before</p><h2>x</h2><p class=author>just before</p>"
        "<h1>Fires</h1><p class=byline>line</p><p class=author>behind</p>"
        "<p class=author-name>name</p><p itemprop=author>sure</p>"
    )
    assert marked(html, ElementRole.AUTHOR) == [
        *("sure", "name", "behind", "just before", "before", "line"),
    ]


def test_dates_are_told_apart_by_the_words_around_them() -> None:
    html = (
        "<h1>Fires</h1><div class=lastUpdated><time>changed</time></div><p class=postDate>date</p>"
        "<time class=published>published</time><p class=candidate>no</p>"
    )
    assert marked(html, ElementRole.PUBLISHED) == ["published", "date"]
    assert marked(html, ElementRole.MODIFIED) == ["changed"]


@pytest.mark.parametrize("place", ["div class=comments", "div class=related", "footer", "aside"])
def test_marks_of_other_things_than_the_page_do_not_count(place: str) -> None:
    html = f"<h1>Fires</h1><h2>More</h2><{place}><p class=author>x</p><time>y</time>"
    assert marked(html, ElementRole.AUTHOR) == []
    assert marked(html, ElementRole.PUBLISHED) == []


def test_the_head_of_the_page_is_its_own_wherever_it_stands() -> None:
    html = "<div class=card><h1>Fires</h1><p class=author>x</p></div>"
    assert marked(html, ElementRole.AUTHOR) == ["x"]


def test_a_page_of_marks_is_read_only_so_far() -> None:
    assert (
        len(marked("<h1>Fires</h1>" + "<p class=author>x</p>" * 10_000, ElementRole.AUTHOR)) < 200
    )


def heading_in(html: str) -> LexborNode:
    heading = parse_html(html).css_first("h1")
    assert heading is not None
    return heading


PAGE = (
    "<nav>Menu</nav><div><p>Fri <b>day</b></p><h1>Fires<script>x</script></h1></div>"
    "<style>p {}</style><div> <p>By\n Ada</p></div>ends"
)


def test_texts_come_in_document_order_away_from_the_element() -> None:
    surroundings = HeadingContext(heading_in(PAGE))
    assert list(surroundings.after) == ["By Ada", "ends"]
    assert list(surroundings.before) == ["day", "Fri", "Menu"]


def test_texts_can_be_gone_through_again_from_the_first() -> None:
    after = HeadingContext(heading_in(PAGE)).after
    assert next(iter(after)) == "By Ada"
    assert list(after) == list(after) == ["By Ada", "ends"]


def test_nothing_surrounds_a_heading_that_is_not_there() -> None:
    surroundings = HeadingContext(None)
    assert [*surroundings.after, *surroundings.before] == []


def test_an_elements_own_texts_leave_scripts_out() -> None:
    assert texts_within(heading_in(PAGE)) == ["Fires"]


def test_one_looks_only_so_far() -> None:
    many = "<p>x</p>" * 1_000
    heading = heading_in(f"{many}<h1>{'<i>x</i>' * 1_000}</h1>{many}")
    assert len(list(HeadingContext(heading).after)) == 80
    assert len(list(HeadingContext(heading).before)) == 30
    assert len(list(nodes_within(heading))) == 80
