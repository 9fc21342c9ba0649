"""Coercion of tool arguments: aliases, JSON in strings, single values as lists, null arguments.

Strict schemas have no optional properties. Who is held to one writes `""`, `[]`, `{}` or 0 where
nothing is wanted, and a default where a choice must be made.

Names that they often take for others, lists and objects as JSON in a string, a single value for a
list of one, all arguments within another object, and empty values where nothing is meant. Whatever
stays unclear is refused as always.
"""

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel, to_snake

from cinder.api.arguments import MAX_KEYS, Arguments, parse_json_strings
from cinder.api.schemas.actions import ActionArguments, action_fields
from cinder.api.schemas.crawl import CrawlArguments

# Elsewhere no limit and the start alone are said so; only who gives all there is may mean neither.
_MEANINGFUL_ZEROS: Mapping[type[Arguments], frozenset[str]] = {
    CrawlArguments: frozenset({"maxPages", "maxDepth"})
}

# What even those actions name that only read a page.
_FIELDS_OF_ALL_ACTIONS = frozenset(ActionArguments.model_fields) - {"text", "key", "script"}


def drop_null_arguments(
    model: type[Arguments], given: Mapping[str, Any], *, is_all_given: bool
) -> dict[str, Any]:
    """Return the arguments without those that say nothing, and may be absent.

    Where all were given, a default says nothing, either.
    """
    said = dict(given)
    meant = frozenset() if is_all_given else _MEANINGFUL_ZEROS.get(model, frozenset())
    for name, info in model.model_fields.items():
        key = info.alias or name
        if info.is_required() or key not in given:
            continue
        said[key] = _drop_inner_nulls(info.annotation, given[key])
        is_default = said[key] == info.get_default(call_default_factory=True)
        is_nothing = _is_empty(said[key]) or (
            key not in meant and _is_refused_zero(model, said, key)
        )
        if is_nothing or (is_all_given and is_default):
            del said[key]
    return said


def _drop_inner_nulls(annotation: Any, value: Any) -> Any:  # Any: a type form has no type
    """Return a list of objects, or an object of texts, without what says nothing in it."""
    if isinstance(value, Mapping) and _find_container_args(dict, annotation) == (str, str):
        return {name: text for name, text in value.items() if text not in ("", None)}
    items = _find_container_args(list, annotation)
    if isinstance(value, list) and items and _is_model(items[0]):
        return [_drop_object_nulls(items[0], each) for each in value]
    return value


def _drop_object_nulls(model: type[Arguments], value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    if model is ActionArguments:
        return _drop_action_nulls(value)
    return drop_null_arguments(model, value, is_all_given=False)


def _drop_action_nulls(action: Mapping[str, Any]) -> dict[str, Any]:
    """Return an action without the empty fields that it does not need."""
    needed, optional = action_fields(action.get("type"))
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


def _find_container_args(kind: type, annotation: Any) -> tuple[Any, ...]:
    """Return what a container within a type form holds; nothing where there is none."""
    if get_origin(annotation) is kind:
        return get_args(annotation)
    return next(
        (found for part in get_args(annotation) if (found := _find_container_args(kind, part))), ()
    )


def _is_model(item: Any) -> bool:
    return isinstance(item, type) and issubclass(item, BaseModel)


# What they call an argument, and what it may be called here; the first that a tool has counts.
ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
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
)

_MAX_NAME_CHARS = 100
_WRAPPERS = frozenset({"arguments", "args", "params", "parameters", "input"})


def coerce_arguments(
    model: type[Arguments], given: Mapping[str, Any], offered: Collection[str] = ()
) -> dict[str, Any]:
    """Return the arguments that were meant, as far as that is plain.

    Whoever gives everything that was offered may have had to, and means none of the defaults.
    """
    known = {info.alias or name for name, info in model.model_fields.items()}
    unwrapped = _unwrap(known, given)
    if len(unwrapped) > MAX_KEYS:
        # They are refused when they are read.
        return dict(unwrapped)
    renamed = _rename_aliases(known, unwrapped)
    unpacked = parse_json_strings(model, renamed)
    listed = {key: _as_list(model, key, value) for key, value in unpacked.items()}
    return drop_null_arguments(
        model, listed, is_all_given=bool(offered) and listed.keys() >= set(offered)
    )


def _unwrap(known: set[str], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments that stand alone within another object."""
    if len(given) != 1:
        return given
    ((name, value),) = given.items()
    if name in known or name not in _WRAPPERS:
        return given
    if isinstance(value, str):
        value = _parse_json(value)
    return value if isinstance(value, Mapping) else given


def _rename_aliases(known: set[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments by the names that they have here, unless that one was given as well."""
    renamed: dict[str, Any] = {}
    for name, value in given.items():
        meant = _canonical_name(known, str(name))
        is_free = meant not in given and meant not in renamed
        renamed[meant if is_free else str(name)] = value
    return renamed


def _canonical_name(known: set[str], name: str) -> str:
    if name in known or len(name) > _MAX_NAME_CHARS:
        return name
    camel = to_camel(name) if "_" in name else name[:1].lower() + name[1:]
    candidates = (camel, to_snake(name), *ALIASES.get(camel, ()))
    return next((candidate for candidate in candidates if candidate in known), name)


def _as_list(model: type[Arguments], key: str, value: Any) -> Any:
    item = _item_type(model, key)
    if item is None or value is None:
        return value
    values = value if isinstance(value, list) else [value]
    if isinstance(item, type) and issubclass(item, BaseModel):
        return [_parse_json(each) if isinstance(each, str) else each for each in values]
    return values


def _item_type(model: type[Arguments], key: str) -> Any:
    """Return what an argument is a list of; None where it is no list."""
    for name, info in model.model_fields.items():
        if key in (name, info.alias):
            return _find_item(info.annotation)
    return None


def _find_item(annotation: Any) -> Any:
    if get_origin(annotation) is list:
        return get_args(annotation)[0]
    return next((found for part in get_args(annotation) if (found := _find_item(part))), None)


def _parse_json(text: str) -> Any:
    """Return the object that a text holds as JSON; the text where it holds none."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
