"""How well recipes hold on generated pages: learned on one page of a template, tried on another."""

from dataclasses import replace
from itertools import pairwise

import pytest

from cinder.extraction.filling import extract_fields
from cinder.extraction.merging import build_data
from cinder.extraction.recipes.applying import RecipeReader, extract_with_recipes
from cinder.extraction.recipes.learning import learn_recipe
from cinder.models.extraction import FieldValue, Grounding, Method, QuotedText
from cinder.models.recipe import Recipe
from tests.extraction.pages.facts import Page
from tests.extraction.pages.generator import generate_pages
from tests.extraction.pages.scoring import Score, is_same, leaves, score_data
from tests.extraction.recipes.lessons import markdown_of

Case = tuple[Recipe, Page, str]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Recipes from the first pages of templates, and the second pages with their markdown."""
    pages = [*generate_pages(is_held_out=False), *generate_pages(is_held_out=True)]
    return [
        (learn_from(first), second, markdown_of(second.html))
        for first, second in zip(pages[::2], pages[1::2], strict=True)
    ]


def learn_from(page: Page) -> Recipe:
    """Learn from what is true, as if a model had said it."""
    markdown = markdown_of(page.html)
    found = extract_fields(page.html, markdown, url=page.url, schema=page.schema)
    truth = dict(leaves(page.truth))
    values = [
        said_by_model(each)
        for each in found.values
        if each.path in truth and is_same(each.value, truth[each.path])
    ]
    return learn_recipe(page.html, markdown, url=page.url, schema=page.schema, values=values)


def said_by_model(value: FieldValue) -> FieldValue:
    evidence = tuple(replace(each, method=Method.MODEL) for each in value.evidence)
    return replace(value, evidence=evidence)


def test_what_recipes_give_is_right_and_most_is_given(cases: list[Case]) -> None:
    total = Score()
    for recipe, page, markdown in cases:
        # Linked data alone has no elements to point at.
        if recipe.rules and not page.template.startswith("json_ld"):
            reader = RecipeReader(page.html, markdown, url=page.url, schema=page.schema)
            total += score_data(build_data(reader.apply(recipe).values, {}), page.truth)
    assert total.precision >= 0.98
    assert total.recall >= 0.8


def test_no_verified_value_of_a_recipe_is_absent_from_its_page(cases: list[Case]) -> None:
    count = 0
    for recipe, page, markdown in cases:
        tried = extract_with_recipes(
            page.html, markdown, url=page.url, schema=page.schema, recipes=[recipe]
        )
        for value in tried.extracted.values:
            for each in value.evidence:
                if each.method is Method.RECIPE and each.grounding is Grounding.VERIFIED:
                    text = markdown if each.text is QuotedText.MARKDOWN else page.html
                    assert text[each.start : each.end] == each.quote
                    count += 1
    assert count > 500


def test_recipes_lose_nothing_that_the_rules_find(cases: list[Case]) -> None:
    with_recipes, without = Score(), Score()
    for recipe, page, markdown in cases:
        found = extract_fields(page.html, markdown, url=page.url, schema=page.schema)
        without += score_data(found.data, page.truth)
        tried = extract_with_recipes(
            page.html, markdown, url=page.url, schema=page.schema, recipes=[recipe]
        )
        with_recipes += score_data(tried.extracted.data, page.truth)
    assert with_recipes.right >= without.right
    assert with_recipes.precision >= without.precision


def test_a_recipe_of_another_template_never_gives_a_wrong_value_unnoticed(
    cases: list[Case],
) -> None:
    by_kind: dict[str, list[Case]] = {}
    for case in cases:
        by_kind.setdefault(case[1].kind, []).append(case)
    total = Score()
    for alike in by_kind.values():
        for (recipe, _, _), (_, page, markdown) in pairwise(alike):
            tried = extract_with_recipes(
                page.html, markdown, url=page.url, schema=page.schema, recipes=[recipe]
            )
            total += score_data(tried.extracted.data, page.truth)
    assert total.precision >= 0.98
