"""Recipes applied to pages: their values count until the page contradicts them."""

from cinder.extraction.filling import extract_fields
from cinder.extraction.recipes.applying import extract_with_recipes
from cinder.models.document import Json
from cinder.models.extraction import Grounding, Method, QuotedText
from cinder.models.recipe import (
    MAX_RECIPES,
    FieldRule,
    ListRule,
    Locator,
    Recipe,
    RecipeTrials,
    Trial,
)
from tests.extraction.recipes.lessons import URL, markdown_of

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "price": {"type": "number"},
        "zq": {"type": "string"},
        "zw": {"type": "string"},
    },
}
PAGE = """<body><main><h1>Lamp</h1><table><tr><th>Price</th><td class="amount">$5</td></tr></table>
<p class="depot">North</p><p class="tax">$1</p></main></body>"""


def rule(name: str, selector: str) -> FieldRule:
    return FieldRule(path=(name,), locators=(Locator(selector=selector),))


def recipe(**selectors: str) -> Recipe:
    return Recipe(fields=tuple(rule(name, each) for name, each in selectors.items()))


def tried(
    html: str, *recipes: Recipe, schema: dict[str, Json] = SCHEMA, markdown: str | None = None
) -> RecipeTrials:
    text = markdown_of(html) if markdown is None else markdown
    return extract_with_recipes(html, text, url=URL, schema=schema, recipes=recipes)


def methods_of(result: RecipeTrials, name: str) -> list[Method]:
    (value,) = [each for each in result.extracted.values if each.path == (name,)]
    return [each.method for each in value.evidence]


def test_a_recipe_fills_what_the_rules_do_not_find() -> None:
    result = tried(PAGE, recipe(zq="p.depot"))
    assert result.trials == (Trial.HELD,)
    assert result.extracted.data == {"price": 5, "zq": "North"}
    assert result.extracted.missing == ("zw",)
    assert methods_of(result, "zq") == [Method.RECIPE]


def test_a_value_that_both_find_has_the_evidence_of_both() -> None:
    result = tried(PAGE, recipe(price="td.amount"))
    methods = methods_of(result, "price")
    assert methods[0] is Method.TABLE
    assert Method.RECIPE in methods


def test_a_recipe_that_the_page_contradicts_counts_for_nothing() -> None:
    result = tried(PAGE, recipe(price="p.tax", zq="p.depot"))
    assert result.trials == (Trial.DISAGREED,)
    assert result.extracted == extract_fields(PAGE, markdown_of(PAGE), url=URL, schema=SCHEMA)


def test_a_recipe_that_misses_most_counts_for_nothing() -> None:
    result = tried(PAGE, recipe(price="b.gone", zq="p.depot", zw="b.left"))
    assert result.trials == (Trial.MISSED,)
    assert result.extracted == extract_fields(PAGE, markdown_of(PAGE), url=URL, schema=SCHEMA)


def test_the_first_recipe_that_holds_is_used() -> None:
    result = tried(PAGE, recipe(zq="b.gone"), recipe(zq="p.depot"), recipe(zq="p.tax"))
    assert result.trials == (Trial.MISSED, Trial.HELD)
    assert result.extracted.data == {"price": 5, "zq": "North"}


def test_few_recipes_are_tried() -> None:
    gone = [recipe(zq=f"b.gone{'e' * n}") for n in range(10)]
    assert tried(PAGE, *gone).trials == (Trial.MISSED,) * MAX_RECIPES


def test_several_elements_that_say_different_things_are_a_miss() -> None:
    page = PAGE.replace("<p class", "<p class='depot'>South</p><p class", 1)
    assert tried(page, recipe(zq="p.depot")).trials == (Trial.MISSED,)


def test_two_locators_that_say_different_things_are_a_miss() -> None:
    both = FieldRule(
        path=("zq",), locators=(Locator(selector="p.depot"), Locator(selector="p.tax"))
    )
    assert tried(PAGE, Recipe(fields=(both,))).trials == (Trial.MISSED,)


def test_a_text_that_cannot_be_read_as_the_schema_wants_is_a_miss() -> None:
    assert tried(PAGE, recipe(price="p.depot")).trials == (Trial.MISSED,)


def test_hidden_text_is_not_read() -> None:
    page = PAGE.replace('<p class="depot">', '<p class="depot" style="display:none">')
    assert tried(page, recipe(zq="p.depot")).trials == (Trial.MISSED,)


def test_a_page_that_is_no_html_is_none_for_a_recipe() -> None:
    result = extract_with_recipes(
        None, "Price: $5", url=URL, schema=SCHEMA, recipes=[recipe(zq="p")]
    )
    assert (result.trials, result.extracted.data) == ((), {"price": 5})


def test_a_page_that_is_a_bomb_is_none_for_a_recipe() -> None:
    bomb = "<b>" * 10_000 + "Lamp"
    assert tried(bomb, recipe(zq="b"), markdown="Price: $5").trials == ()


def test_a_path_that_the_schema_does_not_have_is_a_miss() -> None:
    assert tried(PAGE, recipe(other="p.depot")).trials == (Trial.MISSED,)


LISTED: dict[str, Json] = {
    "type": "object",
    "properties": {
        "things": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"zq": {"type": "string"}, "price": {"type": "number"}},
            },
        }
    },
}


def listing(*records: tuple[str, str]) -> str:
    cards = "".join(
        f"<li class='card'><h3>{name}</h3><p>Price: {price}</p></li>" for name, price in records
    )
    return f"<body><main><h1>Depot</h1><ul>{cards}</ul></main></body>"


def list_rule(selector: str, *fields: FieldRule) -> Recipe:
    return Recipe(lists=(ListRule(path=("things",), selector=selector, fields=fields),))


def test_records_of_a_recipe_keep_what_only_the_rules_know_of_them() -> None:
    page = listing(("Lamp", "$5"), ("Desk", "$40"))
    result = tried(page, list_rule("li.card", rule("zq", "h3")), schema=LISTED)
    assert result.trials == (Trial.HELD,)
    assert result.extracted.data == {
        "things": [{"zq": "Lamp", "price": 5}, {"zq": "Desk", "price": 40}]
    }


def test_records_that_stand_twice_are_given_once() -> None:
    page = listing(("Lamp", "$5"), ("Desk", "$40"), ("Lamp", "$5"))
    result = tried(page, list_rule("li.card", rule("zq", "h3")), schema=LISTED)
    assert [each.value for each in result.extracted.values if each.path[-1] == "zq"] == [
        "Lamp",
        "Desk",
    ]


def test_fields_that_no_record_has_are_named() -> None:
    page = "<body><main><p class='x'><b>Lamp</b></p><p class='x'><b>Desk</b></p></main></body>"
    result = tried(page, list_rule("p.x", rule("zq", "b")), schema=LISTED)
    assert "things[].price" in result.extracted.missing
    assert "things" not in result.extracted.missing


def test_no_value_is_verified_that_its_page_does_not_hold() -> None:
    # A markdown and a page that do not belong together: the proof is what the texts hold.
    result = tried(PAGE, recipe(zq="p.depot", price="td.amount"), markdown="Nothing of it.")
    assert result.trials == (Trial.HELD,)
    for value in result.extracted.values:
        for each in value.evidence:
            assert each.grounding is not Grounding.UNVERIFIED
            assert each.text is QuotedText.PAGE
            assert PAGE[each.start : each.end] == each.quote
