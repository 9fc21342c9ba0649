"""The texts in and around an element."""

from selectolax.lexbor import LexborNode

from cinder.extract.html_tree import parse_html
from cinder.extract.metadata.nearby_text import Surroundings, nodes_within, texts_within


def heading_in(html: str) -> LexborNode:
    heading = parse_html(html).css_first("h1")
    assert heading is not None
    return heading


PAGE = (
    "<nav>Menu</nav><div><p>Fri <b>day</b></p><h1>Fires<script>x</script></h1></div>"
    "<style>p {}</style><div> <p>By\n Ada</p></div>ends"
)


def test_texts_come_in_document_order_away_from_the_element() -> None:
    surroundings = Surroundings(heading_in(PAGE))
    assert list(surroundings.after) == ["By Ada", "ends"]
    assert list(surroundings.before) == ["day", "Fri", "Menu"]


def test_texts_can_be_gone_through_again_from_the_first() -> None:
    after = Surroundings(heading_in(PAGE)).after
    assert next(iter(after)) == "By Ada"
    assert list(after) == list(after) == ["By Ada", "ends"]


def test_nothing_surrounds_a_heading_that_is_not_there() -> None:
    surroundings = Surroundings(None)
    assert [*surroundings.after, *surroundings.before] == []


def test_an_elements_own_texts_leave_scripts_out() -> None:
    assert texts_within(heading_in(PAGE)) == ["Fires"]


def test_one_looks_only_so_far() -> None:
    many = "<p>x</p>" * 1_000
    heading = heading_in(f"{many}<h1>{'<i>x</i>' * 1_000}</h1>{many}")
    assert len(list(Surroundings(heading).after)) == 80
    assert len(list(Surroundings(heading).before)) == 30
    assert len(list(nodes_within(heading))) == 80
