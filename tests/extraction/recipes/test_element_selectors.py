"""Selectors of recipes: parsed, looked up on a page, and built for elements."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from cinder.extraction.flat_page import FlatPage
from cinder.extraction.page_candidates import flatten_page
from cinder.extraction.recipes import element_selectors
from cinder.extraction.recipes.element_selectors import (
    ElementIndex,
    is_meaningful_name,
    named_selectors,
    names_of,
    parse_selector,
    placed_selectors,
    record_selectors,
)
from cinder.html.tree import parse_html

PAGE = """<body><main id="main"><div class="offer big"><span class="price">1</span>
<p>a</p><p>b</p></div><div class="offer"><b><span class="price" itemprop="price">2</span></b></div>
</main><aside><span class="price">3</span><span data-field="unit price">4</span></aside></body>"""
SELECTORS = [
    "span.price",
    "main#main span.price",
    "div.offer > span.price",
    "div.offer.big > p:nth-of-type(2)",
    'span[itemprop="price"]',
    'span[data-field="unit price"]',
    "aside > span:nth-of-type(1)",
    "div > b > span",
    "b",
]


def flat(html: str) -> FlatPage:
    return flatten_page(parse_html(html))


def texts(html: str, selector: str) -> list[str]:
    parsed = parse_selector(selector)
    assert parsed is not None
    page = flat(html)
    return [page.text_of(element) for element in ElementIndex(page).select(parsed)]


@pytest.mark.parametrize("selector", SELECTORS)
def test_a_selector_means_what_it_means_in_css(selector: str) -> None:
    expected = [node.text().strip() for node in LexborHTMLParser(PAGE).css(selector)]
    assert expected
    assert texts(PAGE, selector) == expected


@pytest.mark.parametrize("selector", SELECTORS)
def test_a_selector_is_written_as_it_was_read(selector: str) -> None:
    assert str(parse_selector(selector)) == selector


@pytest.mark.parametrize(
    "selector",
    [
        *("", "a + b", "a:hover", "a ~ b", "*", "a, b", "a b c", "a > b c", "p:nth-of-type(0)"),
        *('a[href="<"]', "a" * 400, " > a", "a >", "x > " * 9 + "x"),
    ],
)
def test_what_says_more_than_recipes_do_is_refused(selector: str) -> None:
    assert parse_selector(selector) is None


def test_within_an_element_only_what_it_holds_is_meant() -> None:
    page = flat(PAGE)
    index = ElementIndex(page)
    offers, prices = parse_selector("div.offer"), parse_selector("span.price")
    assert offers is not None
    assert prices is not None
    found = [index.select(prices, offer) for offer in index.select(offers)]
    assert [[page.text_of(each) for each in held] for held in found] == [["1"], ["2"]]


def test_parents_are_not_looked_for_outside_of_a_record() -> None:
    index = ElementIndex(flat(PAGE))
    offer, selector = parse_selector("div.offer.big"), parse_selector("main span.price")
    assert offer is not None
    assert selector is not None
    assert index.select(selector, index.select(offer)[0]) == []


def test_no_more_elements_are_looked_at_than_the_limit_allows() -> None:
    html = "<body>" + "<div><p>x</p></div>" * 1_000
    index = ElementIndex(flat(html))
    selector = parse_selector("main p")
    assert selector is not None
    for _ in range(element_selectors.MAX_STEPS // 1_000):
        assert index.select(selector) == []
    plain = parse_selector("p")
    assert plain is not None
    assert index.select(plain) == []


@pytest.mark.parametrize(
    "name", ["price", "product__price", "productPrice", "author-name", "spec_2", "isbn13"]
)
def test_a_name_that_says_what_a_thing_is_is_given(name: str) -> None:
    assert is_meaningful_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("css-1q2w3e", "sc-bdVaJa", "Price_root__3xYz1", "jsx-39210", "_2FcNe", "hZkQtr"),
        *("product-12345", "item-8f3a9c", "a" * 80, "", "md:w-1/2"),
    ],
)
def test_a_name_that_a_tool_made_is_not(name: str) -> None:
    assert not is_meaningful_name(name)


@pytest.mark.parametrize("name", ["mt-4", "col-6", "text-lg", "flex", "row", "bg-white"])
def test_a_name_that_lays_a_thing_out_is_not(name: str) -> None:
    assert not is_meaningful_name(name)


NAMED_PAGE = """<body><section id="offers"><div class="buybox css-1q2w3e"><span id="price-of-it"
itemprop="price" data-testid="amount" class="amount bold mt-4">5</span></div>
<ul><li class="offer first">a</li><li class="offer">b</li></ul></section></body>"""


def index_of(html: str) -> ElementIndex:
    return ElementIndex(flatten_page(parse_html(html)))


def test_ids_come_before_names_for_machines_and_those_before_classes() -> None:
    index = index_of(NAMED_PAGE)
    span = next(each for each in index.page.elements if each.tag == "span")
    assert list(map(str, names_of(span))) == [
        "span#price-of-it",
        'span[itemprop="price"]',
        'span[data-testid="amount"]',
        "span.amount",
    ]


def test_names_that_hold_an_element_help_where_its_own_do_not() -> None:
    index = index_of(NAMED_PAGE)
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
    index = index_of(NAMED_PAGE)
    records = [each for each in index.page.elements if each.tag == "li"]
    found = list(map(str, record_selectors(index, records)))
    assert found[0] == "li.offer"
    assert "section#offers li.offer" in found
    assert not any("first" in each for each in found)
