"""What a worker does with a job about recipes."""

import json

from cinder.extract.content_kind import Shape, content_kind
from cinder.extract.fields.wire import read_values
from cinder.extract.recipes.checking import extract_with_recipes
from cinder.extract.recipes.learning import learn_recipe
from cinder.extract.recipes.wire import recipe_answer, tried_answer
from cinder.extract.wire import Message
from cinder.model.recipe import Recipe, recipe_from_json


def answer_try_recipes(job: Message) -> Message:
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


def answer_learn_recipe(job: Message) -> Message:
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
