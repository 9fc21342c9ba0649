"""Naming elements: the surest names first."""

from cinder.extraction.page_candidates import flatten_page
from cinder.extraction.recipes.element_selectors import (
    ElementIndex,
    named_selectors,
    names_of,
    placed_selectors,
    record_selectors,
)
from cinder.html.tree import parse_html

PAGE = """<body><section id="offers"><div class="buybox css-1q2w3e"><span id="price-of-it"
itemprop="price" data-testid="amount" class="amount bold mt-4">5</span></div>
<ul><li class="offer first">a</li><li class="offer">b</li></ul></section></body>"""


def index_of(html: str) -> ElementIndex:
    return ElementIndex(flatten_page(parse_html(html)))


def test_ids_come_before_names_for_machines_and_those_before_classes() -> None:
    index = index_of(PAGE)
    span = next(each for each in index.page.elements if each.tag == "span")
    assert list(map(str, names_of(span))) == [
        "span#price-of-it",
        'span[itemprop="price"]',
        'span[data-testid="amount"]',
        "span.amount",
    ]


def test_names_that_hold_an_element_help_where_its_own_do_not() -> None:
    index = index_of(PAGE)
    span = next(each for each in index.page.elements if each.tag == "span")
    found = list(map(str, named_selectors(index, span)))
    assert found[0] == "span#price-of-it"
    assert "div.buybox span.amount" in found
    assert "section#offers span.amount" in found
    assert not any("css-1q2w3e" in each or "mt-4" in each for each in found)


def test_a_place_is_counted_from_a_named_element_and_not_from_afar() -> None:
    index = index_of(f"<body><div class='facts'>{'<div>' * 6}<i>x</i>{'</div>' * 6}</div></body>")
    deep = next(each for each in index.page.elements if each.tag == "i")
    assert list(placed_selectors(index, deep)) == []
    near = index_of("<body><div class='facts'><p>a</p><p>b</p></div></body>")
    second = near.page.elements[-1]
    assert [str(each) for each in placed_selectors(near, second)] == [
        "div.facts > p:nth-of-type(2)"
    ]


def test_records_are_named_by_what_all_of_them_share() -> None:
    index = index_of(PAGE)
    records = [each for each in index.page.elements if each.tag == "li"]
    found = list(map(str, record_selectors(index, records)))
    assert found[0] == "li.offer"
    assert "section#offers li.offer" in found
    assert not any("first" in each for each in found)
