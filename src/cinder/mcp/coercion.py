"""Coercion of tool arguments: aliases, JSON in strings, single values as lists, null arguments.

Models often use other names for an argument, write lists and objects as JSON in a string, give a
single value for a list of one, or wrap all arguments in another object. Strict schemas have no
optional properties: models held to one write `""`, `[]`, `{}`, 0 or a default where they mean
nothing. Everything that stays unclear is refused as usual.
"""

import json
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel, to_snake

from cinder.api.arguments import MAX_KEYS, Arguments, parse_json_strings
from cinder.api.schemas.actions import ActionArguments, action_fields

# The fields that a tool shows for every action, those that only read a page included.
_FIELDS_OF_ALL_ACTIONS = frozenset(ActionArguments.model_fields) - {"text", "key", "script"}

# Names that models use, and the arguments they may mean; the first that a tool has counts.
ALIASES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("link", "uri", "href", "page", "address", "website", "site", "target", "pageUrl"),
        ("url", "urls"),
    ),
    "url": ("urls",),
    **dict.fromkeys(("links", "uris", "pages", "websites", "urlList"), ("urls",)),
    **dict.fromkeys(
        ("q", "search", "searchQuery", "question", "keywords", "term", "text"), ("query",)
    ),
    **dict.fromkeys(
        ("instruction", "instructions", "extractPrompt", "query", "description"), ("prompt",)
    ),
    **dict.fromkeys(("jsonSchema", "outputSchema"), ("schema",)),
    **dict.fromkeys(
        ("count", "maxResults", "resultCount", "topK", "n", "limit"), ("numResults", "maxPages")
    ),
    **dict.fromkeys(("depth", "maxDiscoveryDepth"), ("maxDepth",)),
    **dict.fromkeys(("crawlId", "jobId"), ("id",)),
    "id": ("jobId",),
    **dict.fromkeys(("wait", "waitMs", "delay"), ("waitFor", "waitSeconds")),
    **dict.fromkeys(("selectors", "include", "includeSelectors"), ("includeTags",)),
    **dict.fromkeys(("exclude", "excludeSelectors", "removeTags"), ("excludeTags",)),
    **dict.fromkeys(("outputFormat", "format"), ("returnFormat",)),
    **dict.fromkeys(("maxLength", "maxCharacters", "limitChars"), ("maxChars",)),
    **dict.fromkeys(("start", "startOffset"), ("startIndex",)),
    **dict.fromkeys(("domains", "allowedDomains"), ("includeDomains",)),
    **dict.fromkeys(("blockedDomains",), ("excludeDomains",)),
    **dict.fromkeys(("fresh", "noCache", "refresh"), ("forceRescrape",)),
    **dict.fromkeys(("baseUrl", "base"), ("base_url",)),
    **dict.fromkeys(("a", "text1", "first"), ("text_a",)),
    **dict.fromkeys(("b", "text2", "second"), ("text_b",)),
}

_MAX_NAME_CHARS = 100
_WRAPPERS = frozenset({"arguments", "args", "params", "parameters", "input"})


def coerce_arguments(
    model: type[Arguments], raw: Mapping[str, Any], offered: Collection[str] = ()
) -> dict[str, Any]:
    """Return the arguments that a model meant, as far as that is clear.

    A call that gives every offered argument, or every one with a default, may have been forced to:
    its defaults mean nothing.
    """
    annotations = {i.alias or name: i.annotation for name, i in model.model_fields.items()}
    known = annotations.keys()
    arguments = raw
    if len(raw) == 1:
        ((name, value),) = raw.items()
        is_wrapper = name in _WRAPPERS and name not in known
        if is_wrapper and isinstance(inner := _parse_object(value), Mapping):
            arguments = inner
    if len(arguments) > MAX_KEYS:
        # Reading them refuses them.
        return dict(arguments)
    renamed: dict[str, Any] = {}
    for name, value in arguments.items():
        canonical = _canonical_name(known, str(name))
        is_free = canonical not in arguments and canonical not in renamed
        renamed[canonical if is_free else str(name)] = value
    unpacked = parse_json_strings(model, renamed)
    for key, value in unpacked.items():
        items = _container_args(list, annotations.get(key))
        if items and value is not None:
            values = value if isinstance(value, list) else [value]
            unpacked[key] = list(map(_parse_object, values)) if _is_model(items[0]) else values
    is_all_given = bool(offered) and unpacked.keys() >= set(offered)
    defaults = _default_names(model).intersection(offered)
    has_defaults = bool(defaults) and unpacked.keys() >= defaults
    return drop_null_arguments(
        model, unpacked, is_all_given=is_all_given, drops_defaults=is_all_given or has_defaults
    )


@cache
def _default_names(model: type[Arguments]) -> frozenset[str]:
    """Return the names of the arguments whose default a schema shows."""
    fields = model.model_fields.items()
    optional = ((name, info) for name, info in fields if not info.is_required())
    return frozenset(
        info.alias or name
        for name, info in optional
        if info.get_default(call_default_factory=True) not in (None, "", [], {})
    )


def _canonical_name(known: Collection[str], name: str) -> str:
    if name in known or len(name) > _MAX_NAME_CHARS:
        return name
    camel = to_camel(name) if "_" in name else name[:1].lower() + name[1:]
    candidates = (camel, to_snake(name), *ALIASES.get(camel, ()))
    return next((candidate for candidate in candidates if candidate in known), name)


def _parse_object(value: Any) -> Any:
    """Return the object that a string holds as JSON; other values unchanged."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def drop_null_arguments(
    model: type[Arguments],
    raw: Mapping[str, Any],
    *,
    is_all_given: bool,
    drops_defaults: bool | None = None,
) -> dict[str, Any]:
    """Return the arguments without those that mean nothing and may be absent.

    Where all arguments were given, or all that have one, defaults mean nothing, either.
    """
    drops_defaults = is_all_given if drops_defaults is None else drops_defaults
    arguments = dict(raw)
    meaningful = frozenset() if is_all_given else model.meaningful_zeros
    for name, info in model.model_fields.items():
        key = info.alias or name
        if info.is_required() or key not in raw:
            continue
        value = arguments[key] = _drop_inner_nulls(info.annotation, raw[key])
        is_default = value == info.get_default(call_default_factory=True)
        is_null = _is_empty(value) or (
            key not in meaningful and _is_zero(value) and _refuses_zero(model, key)
        )
        if is_null or (drops_defaults and is_default):
            del arguments[key]
    return arguments


def _drop_inner_nulls(annotation: Any, value: Any) -> Any:  # Any: a type form has no type
    """Return a list of objects, or an object of texts, without the null values in it."""
    if isinstance(value, Mapping) and _container_args(dict, annotation) == (str, str):
        return {name: text for name, text in value.items() if text not in ("", None)}
    items = _container_args(list, annotation)
    if not isinstance(value, list) or not items or not _is_model(items[0]):
        return value

    def drop(item: Any) -> Any:
        if not isinstance(item, Mapping):
            return item
        if items[0] is ActionArguments:
            return _drop_action_nulls(item)
        return drop_null_arguments(items[0], item, is_all_given=False)

    return [drop(item) for item in value]


def _drop_action_nulls(action: Mapping[str, Any]) -> dict[str, Any]:
    """Return an action without the empty fields that it does not need."""
    needed, optional = action_fields(action.get("type"))
    unused = {name for name, value in action.items() if _is_empty(value) or _is_zero(value)}
    # An enum has no empty value.
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


def _is_model(item: Any) -> bool:
    return isinstance(item, type) and issubclass(item, BaseModel)


def _refuses_zero(model: type[Arguments], key: str) -> bool:
    try:
        model.model_validate({key: 0}, by_alias=True, by_name=False)
    except ValidationError as error:
        problems = [problem["type"] for problem in error.errors() if problem["loc"] == (key,)]
        return problems in (["greater_than_equal"], ["greater_than"])
    return False


def _container_args(kind: type, annotation: Any) -> tuple[Any, ...]:
    """Return the type arguments of the container within a type form; empty if it has none."""
    if get_origin(annotation) is kind:
        return get_args(annotation)
    return next(
        (found for part in get_args(annotation) if (found := _container_args(kind, part))), ()
    )
