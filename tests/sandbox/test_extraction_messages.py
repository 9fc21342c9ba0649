"""The messages about recipes: what goes out comes back, and nothing malformed passes."""

import pytest

from cinder.extraction.recipes.applying import extract_with_recipes
from cinder.models.extraction import ExtractedData
from cinder.models.recipe import Recipe, RecipeTrials
from cinder.sandbox.extraction_handlers import handle_learn_recipe, handle_try_recipes
from cinder.sandbox.extraction_messages import (
    learn_recipe_job,
    read_recipe,
    read_tried,
    recipe_answer,
    tried_answer,
    try_recipes_job,
)
from cinder.sandbox.messages import MalformedMessage, Message
from tests.extraction.recipes.lessons import URL
from tests.extraction.recipes.test_learning import LAMP, product

HTML = "text/html; charset=utf-8"


def test_a_learned_recipe_comes_back_as_it_was_learned() -> None:
    job = learn_recipe_job(
        LAMP.html,
        LAMP.markdown,
        content_type=HTML,
        url=URL,
        schema=LAMP.schema,
        values=LAMP.values,
    )
    assert read_recipe(handle_learn_recipe(job)) == LAMP.learn()


def test_a_trial_comes_back_as_it_went() -> None:
    recipe, page = LAMP.learn(), product("Oak desk", "$1,340.00", "Nordhaus")
    job = try_recipes_job(
        page, None, content_type=HTML, url=URL, schema=LAMP.schema, recipes=[recipe]
    )
    # Without a markdown, quotes are looked up in the page.
    expected = extract_with_recipes(page, page, url=URL, schema=LAMP.schema, recipes=[recipe])
    assert read_tried(handle_try_recipes(job)) == expected


def test_what_is_no_html_teaches_nothing() -> None:
    job = learn_recipe_job(
        LAMP.html, None, content_type="text/plain", url=URL, schema=LAMP.schema, values=LAMP.values
    )
    assert read_recipe(handle_learn_recipe(job)) == Recipe()


@pytest.mark.parametrize("part", [b"", b"[]", b"{}", b"[" * 5_000])
def test_a_malformed_recipe_is_refused(part: bytes) -> None:
    with pytest.raises(MalformedMessage):
        read_recipe(Message("recipe", {}, (part,)))


def test_malformed_trials_are_refused() -> None:
    answer = recipe_answer(Recipe())
    with pytest.raises(MalformedMessage):
        read_tried(Message("tried-recipes", {"trials": ["no such"]}, answer.parts))


def test_no_trials_are_none() -> None:
    tried = RecipeTrials(ExtractedData(data={}), ())
    assert read_tried(tried_answer(tried)) == tried
