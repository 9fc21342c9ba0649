"""Unsaid arguments: empty values from clients that must give every argument.

Strict schemas have no optional properties. Who is held to one writes `""`, `[]`, `{}` or 0 where
nothing is wanted, and a default where a choice must be made.
"""

from collections.abc import Mapping
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from cinder.surfaces.action_arguments import ActionArguments, fields_of
from cinder.surfaces.arguments import Arguments
from cinder.surfaces.crawl_arguments import CrawlArguments

# Elsewhere no limit and the start alone are said so; only who gives all there is may mean neither.
_MEANT_ZEROS: Mapping[type[Arguments], frozenset[str]] = {
    CrawlArguments: frozenset({"maxPages", "maxDepth"})
}

# What even those actions name that only read a page.
_FIELDS_OF_ALL_ACTIONS = frozenset(ActionArguments.model_fields) - {"text", "key", "script"}


def leave_out_unsaid(
    model: type[Arguments], given: Mapping[str, Any], *, is_all_given: bool
) -> dict[str, Any]:
    """Return the arguments without those that say nothing, and may be absent.

    Where all were given, a default says nothing, either.
    """
    said = dict(given)
    meant = frozenset() if is_all_given else _MEANT_ZEROS.get(model, frozenset())
    for name, info in model.model_fields.items():
        key = info.alias or name
        if info.is_required() or key not in given:
            continue
        said[key] = _inner_said(info.annotation, given[key])
        is_default = said[key] == info.get_default(call_default_factory=True)
        is_nothing = _is_empty(said[key]) or (
            key not in meant and _is_refused_zero(model, said, key)
        )
        if is_nothing or (is_all_given and is_default):
            del said[key]
    return said


def _inner_said(annotation: Any, value: Any) -> Any:  # Any: a type form has no type
    """Return a list of objects, or an object of texts, without what says nothing in it."""
    if isinstance(value, Mapping) and _find(dict, annotation) == (str, str):
        return {name: text for name, text in value.items() if text not in ("", None)}
    items = _find(list, annotation)
    if isinstance(value, list) and items and _is_model(items[0]):
        return [_object_said(items[0], each) for each in value]
    return value


def _object_said(model: type[Arguments], value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    if model is ActionArguments:
        return _action_said(value)
    return leave_out_unsaid(model, value, is_all_given=False)


def _action_said(action: Mapping[str, Any]) -> dict[str, Any]:
    """Return an action without the empty fields that it does not need."""
    needed, optional = fields_of(action.get("type"))
    unused = {name for name, value in action.items() if _is_empty(value) or _is_zero(value)}
    # There is no empty direction to give.
    if action.keys() >= _FIELDS_OF_ALL_ACTIONS and "direction" not in (*needed, *optional):
        unused.add("direction")
    return {
        name: value
        for name, value in action.items()
        if name not in unused or name in needed or name not in ActionArguments.model_fields
    }


def _is_empty(value: Any) -> bool:
    return isinstance(value, str | list | Mapping) and not value


def _is_zero(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == 0


def _is_refused_zero(model: type[Arguments], given: Mapping[str, Any], key: str) -> bool:
    if not _is_zero(given[key]):
        return False
    try:
        model.model_validate({key: 0}, by_alias=True, by_name=False)
    except ValidationError as error:
        wrong = [each["type"] for each in error.errors() if each["loc"] == (key,)]
        return wrong in (["greater_than_equal"], ["greater_than"])
    return False


def _find(kind: type, annotation: Any) -> tuple[Any, ...]:
    """Return what a container within a type form holds; nothing where there is none."""
    if get_origin(annotation) is kind:
        return get_args(annotation)
    return next((found for part in get_args(annotation) if (found := _find(kind, part))), ())


def _is_model(item: Any) -> bool:
    return isinstance(item, type) and issubclass(item, BaseModel)
