"""Schemas filled from pages, with evidence."""

import json

import pytest

from cinder.extraction.filling import extract_fields
from cinder.models.document import Json
from cinder.models.extraction import ExtractedData, Grounding, Method, QuotedText

URL = "https://shop.example/thing"
PRODUCT: dict[str, Json] = {
    "type": "object",
    "title": "Product",
    "properties": {
        "name": {"type": "string"},
        "price": {"type": "number"},
        "currency": {"type": "string"},
        "sku": {"type": "string"},
    },
}
PEOPLE: dict[str, Json] = {
    "type": "object",
    "properties": {
        "people": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            },
        }
    },
}


def extract(html: str, schema: dict[str, Json], markdown: str | None = None) -> ExtractedData:
    return extract_fields(html, markdown, url=URL, schema=schema)


@pytest.mark.parametrize(
    ("markup", "method"),
    [
        ("<table><tr><th>Article number</th><td>K-9</td></tr></table>", Method.TABLE),
        ("<table><tr><td>Article number:</td><td>K-9</td></tr></table>", Method.TABLE),
        ("<dl><dt>SKU</dt><dd>K-9</dd></dl>", Method.DEFINITION_LIST),
        ("<p>SKU: K-9</p>", Method.LABEL),
        ("<p><strong>SKU</strong> K-9</p>", Method.LABEL),
        ("<p>Colour: red | SKU: K-9 | Size: 4</p>", Method.LABEL),
        ("<p>SKU: K-9 Category: Cups</p>", Method.LABEL),
        ("<div><span>SKU</span><span>K-9</span></div>", Method.LABEL),
        ("<div><p class=v>K-9</p><p class=l>SKU</p></div>", Method.LABEL),
        ("<h3>SKU</h3><p>K-9</p>", Method.HEADING),
        ("<b class='product__sku'>K-9</b>", Method.NAMED_ELEMENT),
        ("<div itemscope><meta itemprop=sku content=K-9></div>", Method.MICRODATA),
        (
            '<script type="application/ld+json">{"@type":"Product","sku":"K-9"}</script>',
            Method.JSON_LD,
        ),
        ('<meta property="product:retailer_part_no" content="x"><p>SKU: K-9</p>', Method.LABEL),
    ],
)
def test_a_value_is_found_in_every_kind_of_markup(markup: str, method: Method) -> None:
    found = extract(f"<body><h1>A thing</h1>{markup}", PRODUCT)
    sku = next(value for value in found.values if value.path == ("sku",))
    assert (sku.value, sku.evidence[0].method) == ("K-9", method)
    assert sku.evidence[0].grounding is Grounding.VERIFIED


def test_quotes_are_looked_up_in_the_markdown_first() -> None:
    markdown = "# Lamp\n\nPrice: $1,299.00\n"
    found = extract("<h1>Lamp</h1><p>Price: $1,299.00</p>", PRODUCT, markdown)
    price = next(value for value in found.values if value.path == ("price",))
    evidence = price.evidence[0]
    assert evidence.text is QuotedText.MARKDOWN
    assert markdown[evidence.start : evidence.end] == evidence.quote == "$1,299.00"
    assert (evidence.grounding, evidence.normalization) == (
        Grounding.NORMALIZED,
        "amount of money",
    )
    assert evidence.url == URL


def test_what_only_the_markup_says_is_quoted_from_the_page() -> None:
    html = '<h1>Lamp</h1><div itemscope><meta itemprop="sku" content="K-9"></div>'
    found = extract(html, PRODUCT, "# Lamp")
    evidence = next(value for value in found.values if value.path == ("sku",)).evidence[0]
    assert evidence.text is QuotedText.PAGE
    assert html[evidence.start : evidence.end] == "K-9"


def test_what_is_not_there_is_named() -> None:
    found = extract("<h1>Lamp</h1>", PRODUCT)
    assert found.data == {"name": "Lamp"}
    assert found.missing == ("price", "currency", "sku")


def test_a_price_says_its_currency_as_well() -> None:
    found = extract("<h1>Lamp</h1><p>Price: €12</p>", PRODUCT)
    assert found.data == {"name": "Lamp", "price": 12, "currency": "EUR"}


def test_contradictions_of_a_page_are_listed() -> None:
    html = "<h1>Lamp</h1><p>Price: $12</p><table><tr><th>Price</th><td>$13</td></tr></table>"
    found = extract(html, PRODUCT)
    assert [(each.kept, each.other.value) for each in found.conflicts] == [(13, 12)]


def test_text_hidden_from_visitors_is_not_used() -> None:
    html = "<h1>Lamp</h1><p style='display:none'>SKU: EVIL</p><p>SKU: K-9</p>"
    data = extract(html, PRODUCT).data
    assert isinstance(data, dict)
    assert data["sku"] == "K-9"


def test_prices_of_other_things_are_not_the_price() -> None:
    cards = "".join(
        f"<div class=card><b>Thing {n}</b><i class=price>${n}</i></div>" for n in (1, 2)
    )
    found = extract(f"<h1>Lamp</h1><div>{cards}</div><aside class=price>$3</aside>", PRODUCT)
    assert "price" in found.missing


@pytest.mark.parametrize(
    "markup",
    [
        "<table><tr><th>Name</th><th>Age</th></tr><tr><td>Ada</td><td>36</td></tr>"
        "<tr><td>Bob</td><td>41</td></tr></table>",
        "<ul><li><b>Ada</b><br>Age: 36</li><li><b>Bob</b><br>Age: 41</li></ul>",
        "<div class=c><h3>Ada</h3><i class=age>36</i></div><div class=c><h3>Bob</h3>"
        "<i class=age>41</i></div>",
        "<section><h3>Ada</h3><p>Age: 36</p><h3>Bob</h3><p>Age: 41</p><h3>Cy</h3></section>",
        '<script type="application/ld+json">{"people":[{"name":"Ada","age":36},'
        '{"name":"Bob","age":41}]}</script>',
        "<div itemscope><p itemprop=people itemscope><b itemprop=name>Ada</b>"
        "<i itemprop=age>36</i></p><p itemprop=people itemscope><b itemprop=name>Bob</b>"
        "<i itemprop=age>41</i></p></div>",
    ],
)
def test_records_are_found_in_every_kind_of_list(markup: str) -> None:
    data = extract(f"<h1>Who is who</h1><h2>People</h2>{markup}", PEOPLE).data
    assert isinstance(data, dict)
    assert isinstance(data["people"], list)
    assert data["people"][:2] == [{"name": "Ada", "age": 36}, {"name": "Bob", "age": 41}]


def test_each_value_of_a_record_is_quoted_from_that_record() -> None:
    markdown = "| Name | Age |\n| --- | --- |\n| Ada | 36 |\n| Bob | 36 |\n"
    html = (
        "<table><tr><th>Name</th><th>Age</th></tr><tr><td>Ada</td><td>36</td></tr>"
        "<tr><td>Bob</td><td>36</td></tr></table>"
    )
    found = extract(html, PEOPLE, markdown)
    ages = [value.evidence[0].start for value in found.values if value.path[-1] == "age"]
    assert ages == [markdown.index("36"), markdown.rindex("36")]


@pytest.mark.parametrize(
    "markup",
    [
        "<p>Tags: red, green and blue</p>",
        "<h3>Tags</h3><ul><li>red</li><li>green</li><li>blue</li></ul>",
        "<dl><dt>Tags</dt><dd>red</dd><dd>green</dd><dd>blue</dd></dl>",
        "<ul class=tags><li>red</li><li>green</li><li>blue</li></ul>",
        '<meta name=keywords content="red, green, blue">',
    ],
)
def test_lists_of_texts_are_found(markup: str) -> None:
    schema: dict[str, Json] = {
        "properties": {"tags": {"type": "array", "items": {"type": "string"}}}
    }
    assert extract(f"<h1>X</h1>{markup}", schema).data == {"tags": ["red", "green", "blue"]}


def test_a_name_beneath_an_object_is_not_the_name_of_the_page() -> None:
    schema: dict[str, Json] = {
        "properties": {
            "name": {"type": "string"},
            "brand": {"type": "object", "properties": {"name": {"type": "string"}}},
        }
    }
    assert extract("<h1>Lamp</h1>", schema).data == {"name": "Lamp"}
    linked = json.dumps({"@type": "Product", "name": "Lamp", "brand": {"name": "Acme"}})
    html = f'<script type="application/ld+json">{linked}</script><h1>Lamp</h1>'
    assert extract(html, schema).data == {"name": "Lamp", "brand": {"name": "Acme"}}


def test_linked_data_of_the_site_is_not_that_of_the_page() -> None:
    graph = {
        "@graph": [
            {"@type": "Organization", "name": "Shop", "telephone": "+1 555 010 0199"},
            {"@type": "Product", "name": "Lamp", "sku": "K-9", "offers": {"price": "12.00"}},
        ]
    }
    html = f'<script type="application/ld+json">{json.dumps(graph)}</script><p>x</p>'
    data = extract(html, PRODUCT).data
    assert data == {"name": "Lamp", "sku": "K-9", "price": 12}


def test_markdown_alone_is_enough() -> None:
    markdown = (
        "# Lamp\n\n- **SKU:** K-9\n- Price: $12\n\n"
        "## People\n\n| Name | Age |\n| --- | --- |\n| Ada | 36 |\n"
    )
    found = extract_fields(None, markdown, url=URL, schema=PRODUCT)
    assert found.data == {"name": "Lamp", "price": 12, "currency": "USD", "sku": "K-9"}
    people = extract_fields(None, markdown, url=URL, schema=PEOPLE)
    assert people.data == {"people": [{"name": "Ada", "age": 36}]}


def test_an_array_may_be_the_whole_schema() -> None:
    schema = PEOPLE["properties"]
    assert isinstance(schema, dict)
    people = schema["people"]
    assert isinstance(people, dict)
    html = "<table><tr><th>Name</th><th>Age</th></tr><tr><td>Ada</td><td>36</td></tr></table>"
    found = extract(html + html, people)
    assert found.data == [{"name": "Ada", "age": 36}]
    assert extract("<p>x</p>", people).data == []


@pytest.mark.parametrize(
    "schema",
    [{}, {"type": "string"}, {"type": "array"}, {"properties": {"a": True}}, {"type": "object"}],
)
def test_a_schema_that_asks_for_nothing_gets_nothing(schema: dict[str, Json]) -> None:
    assert extract("<h1>Lamp</h1><p>Price: $12</p>", schema).values == ()


def test_two_labelled_fields_may_have_the_same_day_which_is_then_not_that_of_the_page() -> None:
    schema: dict[str, Json] = {
        "properties": {
            "startDate": {"type": "string", "format": "date"},
            "endDate": {"type": "string", "format": "date"},
            "publishedDate": {"type": "string", "format": "date"},
        }
    }
    both = "<h1>Fair</h1><p>Starts: 5 May 2025</p><p>Ends: 5 May 2025</p>"
    assert extract(both, schema).data == {"startDate": "2025-05-05", "endDate": "2025-05-05"}


def test_the_number_of_a_name_is_no_price() -> None:
    html = "<h1>Lamps</h1><div class=info>Lamp 24 $554.99</div>"
    data = extract(html, PRODUCT).data
    assert isinstance(data, dict)
    assert data["price"] == 554.99


PAGE_OF_ONE = """<html><body><h1>Ember Kettle</h1><p>Price: $49.90</p>
<dl><dt>Weight</dt><dd>1.2 kg</dd></dl></body></html>"""
SUCH_THINGS: dict[str, Json] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "price": {"type": "number"}},
    },
}


@pytest.mark.parametrize("schema", [SUCH_THINGS, {"properties": {"products": SUCH_THINGS}}])
def test_a_page_of_one_thing_is_the_one_record_of_a_list_of_such(schema: dict[str, Json]) -> None:
    found = extract_fields(PAGE_OF_ONE, None, url="https://shop.test/1", schema=schema)

    records = found.data["products"] if isinstance(found.data, dict) else found.data
    assert records == [{"name": "Ember Kettle", "price": 49.9}]


def test_a_page_of_one_thing_is_no_record_of_a_list_beside_other_fields() -> None:
    schema: dict[str, Json] = {"properties": {"name": {"type": "string"}, "reviews": SUCH_THINGS}}

    found = extract_fields(PAGE_OF_ONE, None, url="https://shop.test/1", schema=schema)

    assert found.data == {"name": "Ember Kettle"}
    assert found.missing == ("reviews",)
