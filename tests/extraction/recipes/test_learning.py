"""Learning: short selectors that give the same field on the site's other pages."""

import json
from dataclasses import replace

import pytest

from cinder.extraction.recipes.learning import MAX_FIELDS, learn_recipe
from cinder.models.document import Json
from cinder.models.extraction import Grounding, Method
from cinder.models.recipe import FieldRule, Locator, Recipe, recipe_to_json
from tests.extraction.recipes.lessons import URL, Lesson, values_of

TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": "number"}


def product(name: str, price: str, maker: str) -> str:
    """A page whose classes a tool made, but for one."""
    return f"""<body><header><a href="/">Shop</a></header><main class="css-1q2w3e">
<h1 class="sc-bdVaJa">{name}</h1><div class="mt-4"><span class="buybox-amount">{price}</span></div>
<table><tr><th>Made by</th><td>{maker}</td></tr><tr><th>Sold by</th><td>Emporium</td></tr></table>
<p class="css-9z8y7x">A fine thing to have.</p></main>
<aside><span class="teaser-amount">$3.00</span></aside></body>"""


LAMP = Lesson(
    html=product("Brass lamp", "$12.50", "Kestrel"),
    properties={"title": TEXT, "cost": NUMBER, "origin": TEXT},
    said={
        ("title",): ("Brass lamp", "Brass lamp"),
        ("cost",): (12.5, "$12.50"),
        ("origin",): ("Kestrel", "Kestrel"),
    },
)


def test_selectors_rest_on_given_names_and_labels() -> None:
    assert LAMP.learn() == Recipe(
        fields=(
            FieldRule(path=("title",), locators=(Locator(selector="h1"),)),
            FieldRule(path=("cost",), locators=(Locator(selector="span.buybox-amount"),)),
            FieldRule(path=("origin",), locators=(Locator(selector="td", label="made by"),)),
        )
    )


def test_another_page_of_the_site_gives_its_own_values() -> None:
    other = product("Oak desk", "$1,340.00", "Nordhaus")
    assert values_of(LAMP.apply_to(other)) == {
        ("title",): "Oak desk",
        ("cost",): 1340,
        ("origin",): "Nordhaus",
    }


def test_values_are_proved_by_the_page_that_they_come_from() -> None:
    other = product("Oak desk", "$1,340.00", "Nordhaus")
    (cost,) = [each for each in LAMP.apply_to(other).values if each.path == ("cost",)]
    (evidence,) = cost.evidence
    assert (evidence.method, evidence.grounding) == (Method.RECIPE, Grounding.NORMALIZED)
    assert (evidence.quote, evidence.label) == ("$1,340.00", "span.buybox-amount")


TEMPLATES = {
    "id": "<h1>Lamp</h1><b>9</b><span id='stock-level'>{}</span><span id='x-12345'>7</span>",
    "itemprop": "<h1>Lamp</h1><p><i itemprop='inventory'>{}</i> of <i itemprop='total'>90</i></p>",
    "itemprop of a thing": "<div itemprop='seller'><b itemprop='name'>Shop</b></div>"
    "<div itemprop='depot'><b itemprop='name'>{}</b></div>",
    "data attribute": "<div data-testid='depot-count'>{}</div><div data-testid='other'>5</div>",
    "label in the text": "<p><b>Shelf:</b> A7</p><p><b>Depot:</b> {}</p><p><b>Row:</b> 3</p>",
    "definition list": "<dl><dt>Shelf</dt><dd>4</dd><dt>Depot</dt><dd>{}</dd></dl>",
    "two boxes": "<div><div>Shelf</div><div>4</div></div><div><div>Depot</div><div>{}</div></div>",
    "part of a sentence": "<p class='stock'>There are {} pieces in the depot.</p>",
    "place": "<div class='facts'><div>A</div><div>{}</div><div>C</div></div>",
}


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES.keys())
def test_many_ways_of_writing_a_value_are_learned(template: str) -> None:
    lesson = Lesson(
        html=f"<body><main>{template.format(31)}</main></body>",
        properties={"zq": {"type": "integer"}},
        said={("zq",): (31, "31")},
    )
    other = f"<body><main><p>New: our catalogue.</p>{template.format(208)}</main></body>"
    assert values_of(lesson.apply_to(other)) == {("zq",): 208}


def test_an_attribute_is_learned_where_it_says_the_value() -> None:
    page = (
        "<body><main><h1>Lamp</h1><a class='manual' href='/files/{}.pdf'>Manual</a></main></body>"
    )
    lesson = Lesson(
        html=page.format("lamp"),
        properties={"sheet": {"type": "string", "format": "uri"}},
        said={("sheet",): ("https://shop.example/files/lamp.pdf", "/files/lamp.pdf")},
    )
    assert values_of(lesson.apply_to(page.format("desk"))) == {
        ("sheet",): "https://shop.example/files/desk.pdf"
    }


def test_a_date_is_read_as_the_model_wrote_it() -> None:
    page = "<body><main><h1>Talk</h1><span class='when'>{}</span></main></body>"
    lesson = Lesson(
        html=page.format("3 March 2025"),
        properties={"zq": TEXT},
        said={("zq",): ("2025-03-03", "3 March 2025")},
    )
    assert values_of(lesson.apply_to(page.format("24 May 2026"))) == {("zq",): "2026-05-24"}


def test_of_equal_texts_the_one_is_learned_that_was_quoted() -> None:
    page = (
        "<body><main><h1>Lamp</h1><p class='old'>Before: ${0}</p>"
        "<p class='new'>Now: ${1}</p></main></body>"
    )
    lesson = Lesson(html=page.format(20, 20), properties={"zq": NUMBER})
    place = lesson.markdown.index("20", lesson.markdown.index("Now"))
    known = Lesson(html=lesson.html, properties=lesson.properties, said={("zq",): (20, "20")})
    (first,) = known.values
    (evidence,) = first.evidence
    value = replace(first, evidence=(replace(evidence, start=place, end=place + 2),))
    recipe = learn_recipe(
        lesson.html, lesson.markdown, url=URL, schema=lesson.schema, values=[value]
    )
    assert [each.locators[0].selector for each in recipe.fields] == ["p.new"]


def test_what_no_page_proves_is_not_learned() -> None:
    value = LAMP.values[0]
    unproved = replace(
        value, evidence=(replace(value.evidence[0], grounding=Grounding.UNVERIFIED),)
    )
    recipe = learn_recipe(LAMP.html, LAMP.markdown, url=URL, schema=LAMP.schema, values=[unproved])
    assert recipe == Recipe()


def test_a_value_that_does_not_follow_from_the_text_is_not_learned() -> None:
    lesson = Lesson(
        html="<body><main><p class='size'>two hundred</p></main></body>",
        properties={"zq": NUMBER},
        said={("zq",): (200, "two hundred")},
    )
    assert lesson.learn() == Recipe()


def test_a_value_in_running_prose_is_not_learned() -> None:
    prose = "It was in the spring that the house by the river was built by the family. " * 4
    lesson = Lesson(
        html=f"<body><main><p>{prose}In 1874 the mill burnt down. {prose}</p></main>",
        properties={"zq": {"type": "integer"}},
        said={("zq",): (1874, "1874")},
    )
    assert lesson.learn() == Recipe()


def test_a_rule_that_the_page_itself_contradicts_is_not_learned() -> None:
    page = (
        "<body><main><h1>Lamp</h1><table><tr><th>Price</th><td>$5</td></tr></table>"
        "<p class='tax'>$1</p></main></body>"
    )
    lesson = Lesson(html=page, properties={"price": NUMBER}, said={("price",): (1, "$1")})
    assert lesson.learn() == Recipe()


RECORDS = {
    "cards": ("<div class='cards'>{}</div>", "<div class='card'><h3>{}</h3><i>{} left</i></div>"),
    "rows": (
        "<table><tr><td>Item</td><td>Left</td></tr>{}</table>",
        "<tr><td>{}</td><td>{}</td></tr>",
    ),
    "under a heading": (
        "<ul><li>Home</li><li>News</li></ul><h2>Stock</h2><ul>{}</ul>",
        "<li><b>{}</b> <span>{}</span></li>",
    ),
}


@pytest.mark.parametrize(("frame", "record"), RECORDS.values(), ids=RECORDS.keys())
def test_records_are_learned_with_the_fields_in_them(frame: str, record: str) -> None:
    def page(*records: tuple[str, int]) -> str:
        items = "".join(record.format(*each) for each in records)
        return f"<body><main><h1>Depot</h1>{frame.format(items)}</main></body>"

    item: Json = {"type": "object", "properties": {"zq": TEXT, "zw": {"type": "integer"}}}
    lesson = Lesson(
        html=page(("Brass lamp", 12), ("Oak desk", 40), ("Linen chair", 7)),
        properties={"things": {"type": "array", "items": item}},
        said={
            ("things", 0, "zq"): ("Brass lamp", "Brass lamp"),
            ("things", 0, "zw"): (12, "12"),
            ("things", 1, "zq"): ("Oak desk", "Oak desk"),
            ("things", 1, "zw"): (40, "40"),
            ("things", 2, "zq"): ("Linen chair", "Linen chair"),
            ("things", 2, "zw"): (7, "7"),
        },
    )
    other = page(("Tin box", 3), ("Steel shelf", 55))
    assert values_of(lesson.apply_to(other)) == {
        ("things", 0, "zq"): "Tin box",
        ("things", 0, "zw"): 3,
        ("things", 1, "zq"): "Steel shelf",
        ("things", 1, "zw"): 55,
    }


def test_a_list_of_texts_is_learned() -> None:
    def page(*tags: str) -> str:
        return "<body><main><ul class='topics'>" + "".join(f"<li>{each}</li>" for each in tags)

    lesson = Lesson(
        html=page("energy", "travel"),
        properties={"zq": {"type": "array", "items": TEXT}},
        said={("zq", 0): ("energy", "energy"), ("zq", 1): ("travel", "travel")},
    )
    assert values_of(lesson.apply_to(page("music", "tools", "bees"))) == {
        ("zq", 0): "music",
        ("zq", 1): "tools",
        ("zq", 2): "bees",
    }


def test_a_list_of_which_something_cannot_be_learned_is_not_learned() -> None:
    page = "<body><main><ul class='x'><li><b>Lamp</b> many</li><li><b>Desk</b> few</li></ul></main>"
    item: Json = {"type": "object", "properties": {"zq": TEXT, "zw": {"type": "integer"}}}
    lesson = Lesson(
        html=page,
        properties={"things": {"type": "array", "items": item}},
        said={
            ("things", 0, "zq"): ("Lamp", "Lamp"),
            ("things", 0, "zw"): (99, "many"),
            ("things", 1, "zq"): ("Desk", "Desk"),
            ("things", 1, "zw"): (2, "few"),
        },
    )
    assert lesson.learn() == Recipe()


def test_a_page_that_is_a_bomb_teaches_nothing() -> None:
    html = "<b>" * 10_000 + "Lamp"
    values = [replace(LAMP.values[0])]
    recipe = learn_recipe(html, "Lamp", url=URL, schema=LAMP.schema, values=values)
    assert recipe == Recipe()


def test_a_recipe_has_a_bounded_number_of_rules() -> None:
    count = MAX_FIELDS + 20
    cells = "".join(f"<p id='cell-of-{'x' * n}'>value {n}</p>" for n in range(1, count + 1))
    lesson = Lesson(
        html=f"<body><main>{cells}</main></body>",
        properties={f"f{n}": TEXT for n in range(1, count + 1)},
        said={(f"f{n}",): (f"value {n}", f"value {n}") for n in range(1, count + 1)},
    )
    recipe = lesson.learn()
    assert 0 < len(recipe.fields) <= MAX_FIELDS
    assert len(json.dumps(recipe_to_json(recipe))) < 50_000
