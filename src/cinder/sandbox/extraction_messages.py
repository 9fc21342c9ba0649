"""The messages between sandbox and child about schema fields and recipes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from cinder.models.document import Json
from cinder.models.extraction import (
    Conflict,
    Evidence,
    ExtractedData,
    FieldPath,
    FieldValue,
    Grounding,
    Method,
    QuotedText,
)
from cinder.models.recipe import Recipe, RecipeTrials, Trial, recipe_from_json, recipe_to_json
from cinder.sandbox.messages import MalformedMessage, Message

FIELDS = "fields"


def fields_job(
    text: str | None,
    markdown: str | None,
    *,
    content_type: str,
    url: str,
    schema: Mapping[str, Json],
) -> Message:
    """Ask what a saved page holds for the fields of a schema."""
    header: dict[str, Json] = {
        "content_type": content_type,
        "url": url,
        "has_text": text is not None,
        "has_markdown": markdown is not None,
    }
    return Message(FIELDS, header, (_bytes(text), _bytes(markdown), json.dumps(schema).encode()))


def fields_answer(extracted: ExtractedData) -> Message:
    """Carry extracted data back."""
    return Message("fields", {}, (json.dumps(asdict(extracted)).encode(),))


def read_fields(message: Message) -> ExtractedData:
    """Return the extracted data that an answer carries.

    Raises:
        MalformedMessage: the answer has not the shape of one.
    """
    try:
        said = _table(json.loads(message.parts[0]))
        return ExtractedData(
            data=said["data"],
            values=read_values(said["values"]),
            missing=tuple(str(each) for each in _list(said["missing"])),
            conflicts=tuple(_read_conflict(each) for each in _list(said["conflicts"])),
            warnings=tuple(str(each) for each in _list(said["warnings"])),
        )
    except (IndexError, KeyError, TypeError, ValueError, RecursionError) as exc:
        raise MalformedMessage("The extracted data cannot be read") from exc


def read_values(said: Json) -> tuple[FieldValue, ...]:
    """Return the values that a message has as JSON.

    Raises:
        KeyError, TypeError, ValueError: they have not the shape of some.
    """
    return tuple(_read_value(each) for each in _list(said))


def _read_conflict(said: Json) -> Conflict:
    table = _table(said)
    return Conflict(
        path=_read_path(table["path"]), kept=table["kept"], other=_read_value(table["other"])
    )


def _read_value(said: Json) -> FieldValue:
    table = _table(said)
    return FieldValue(
        path=_read_path(table["path"]),
        value=table["value"],
        evidence=tuple(_read_evidence(each) for each in _list(table["evidence"])),
        score=float(str(table["score"])),
    )


def _read_evidence(said: Json) -> Evidence:
    table = _table(said)
    text = table["text"]
    return Evidence(
        method=Method(str(table["method"])),
        quote=str(table["quote"]),
        grounding=Grounding(str(table["grounding"])),
        url=str(table["url"]),
        label=str(table["label"]),
        text=None if text is None else QuotedText(str(text)),
        start=_place(table["start"]),
        end=_place(table["end"]),
        normalization=str(table["normalization"]),
    )


def _read_path(said: Json) -> FieldPath:
    return tuple(part if isinstance(part, int) else str(part) for part in _list(said))


def _place(said: Json) -> int | None:
    if not isinstance(said, int | None):
        raise TypeError("number expected")
    return said


def _table(said: Json) -> dict[str, Json]:
    if not isinstance(said, dict):
        raise TypeError("table expected")
    return said


def _list(said: Json) -> list[Json]:
    if not isinstance(said, list):
        raise TypeError("list expected")
    return said


def _bytes(text: str | None) -> bytes:
    return (text or "").encode("utf-8", "replace")


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


def tried_answer(tried: RecipeTrials) -> Message:
    """Carry back what was found, and how the recipes fared."""
    trials: list[Json] = [str(each) for each in tried.trials]
    return Message("tried-recipes", {"trials": trials}, fields_answer(tried.extracted).parts)


def read_tried(message: Message) -> RecipeTrials:
    """Return what an answer says about tried recipes.

    Raises:
        MalformedMessage: the answer has not the shape of one.
    """
    trials = message.header.get("trials")
    try:
        told = tuple(Trial(str(each)) for each in trials) if isinstance(trials, list) else ()
    except ValueError as exc:
        raise MalformedMessage("The trials cannot be read") from exc
    return RecipeTrials(read_fields(message), told)


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
