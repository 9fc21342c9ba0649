"""Handles messages about schema fields and recipes in the sandbox child."""

import json

from cinder.extraction.filling import extract_fields
from cinder.extraction.recipes.applying import extract_with_recipes
from cinder.extraction.recipes.learning import learn_recipe
from cinder.models.recipe import Recipe, recipe_from_json
from cinder.sandbox.extraction_messages import (
    fields_answer,
    read_values,
    recipe_answer,
    tried_answer,
)
from cinder.sandbox.messages import Message
from cinder.text.content_type import Shape, content_kind


def handle_fields(job: Message) -> Message:
    """Fill the schema that a job carries from the page that it carries."""
    header = job.header
    text, markdown, schema = (part.decode() for part in job.parts)
    is_html = header["has_text"] is True and (
        content_kind(str(header["content_type"]), text).shape is Shape.HTML
    )
    extracted = extract_fields(
        text if is_html else None,
        markdown if header["has_markdown"] is True else text,
        url=str(header["url"]),
        schema=json.loads(schema),
    )
    return fields_answer(extracted)


def handle_try_recipes(job: Message) -> Message:
    """Fill the schema that a job carries from the page that it carries, by its recipes first."""
    text, markdown, wish = (part.decode() for part in job.parts)
    said = json.loads(wish)
    tried = extract_with_recipes(
        text if _is_html(job, text) else None,
        markdown if job.header["has_markdown"] is True else text,
        url=str(job.header["url"]),
        schema=said["schema"],
        recipes=[recipe_from_json(each) for each in said["recipes"]],
    )
    return tried_answer(tried)


def handle_learn_recipe(job: Message) -> Message:
    """Learn from the page and the values that a job carries."""
    text, markdown, known = (part.decode() for part in job.parts)
    if not _is_html(job, text):
        return recipe_answer(Recipe())
    said = json.loads(known)
    recipe = learn_recipe(
        text,
        markdown if job.header["has_markdown"] is True else None,
        url=str(job.header["url"]),
        schema=said["schema"],
        values=read_values(said["values"]),
    )
    return recipe_answer(recipe)


def _is_html(job: Message, text: str) -> bool:
    return content_kind(str(job.header["content_type"]), text).shape is Shape.HTML
