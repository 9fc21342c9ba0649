"""The messages about recipes: see `cinder.extract.wire`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from cinder.extract.fields.wire import fields_answer, read_fields
from cinder.extract.recipes.tried import TriedRecipes
from cinder.extract.wire import MalformedMessage, Message
from cinder.model.document import Json
from cinder.model.extracted_data import FieldValue
from cinder.model.recipe import Recipe, Trial, recipe_from_json, recipe_to_json

TRY_RECIPES = "try-recipes"
LEARN_RECIPE = "learn-recipe"


def try_recipes_job(
    text: str,
    markdown: str | None,
    *,
    content_type: str,
    url: str,
    schema: Mapping[str, Json],
    recipes: Sequence[Recipe],
) -> Message:
    """Ask what a saved page holds for the fields of a schema, by recipes first."""
    header = _page_header(markdown, content_type, url)
    wish = {"schema": schema, "recipes": [recipe_to_json(each) for each in recipes]}
    return Message(TRY_RECIPES, header, (*_page_parts(text, markdown), json.dumps(wish).encode()))


def learn_recipe_job(
    text: str,
    markdown: str | None,
    *,
    content_type: str,
    url: str,
    schema: Mapping[str, Json],
    values: Sequence[FieldValue],
) -> Message:
    """Ask for the rules by which a saved page gives some values again."""
    header = _page_header(markdown, content_type, url)
    known = {"schema": schema, "values": [asdict(each) for each in values]}
    return Message(LEARN_RECIPE, header, (*_page_parts(text, markdown), json.dumps(known).encode()))


def tried_answer(tried: TriedRecipes) -> Message:
    """Carry back what was found, and how the recipes fared."""
    trials: list[Json] = [str(each) for each in tried.trials]
    return Message("tried-recipes", {"trials": trials}, fields_answer(tried.extracted).parts)


def read_tried(message: Message) -> TriedRecipes:
    """Return what an answer says about tried recipes.

    Raises:
        MalformedMessage: the answer has not the shape of one.
    """
    trials = message.header.get("trials")
    try:
        told = tuple(Trial(str(each)) for each in trials) if isinstance(trials, list) else ()
    except ValueError as exc:
        raise MalformedMessage("The trials cannot be read") from exc
    return TriedRecipes(read_fields(message), told)


def recipe_answer(recipe: Recipe) -> Message:
    """Carry a recipe back."""
    return Message("recipe", {}, (json.dumps(recipe_to_json(recipe)).encode(),))


def read_recipe(message: Message) -> Recipe:
    """Return the recipe that an answer carries.

    Raises:
        MalformedMessage: the answer has not the shape of one.
    """
    try:
        return recipe_from_json(json.loads(message.parts[0]))
    except (IndexError, ValueError, RecursionError) as exc:
        raise MalformedMessage("The recipe cannot be read") from exc


def _page_header(markdown: str | None, content_type: str, url: str) -> dict[str, Json]:
    return {"content_type": content_type, "url": url, "has_markdown": markdown is not None}


def _page_parts(text: str, markdown: str | None) -> tuple[bytes, bytes]:
    return text.encode("utf-8", "replace"), (markdown or "").encode("utf-8", "replace")
