"""Lenient arguments: what models send instead of what a schema says, put right where it is plain.

Names that they often take for others, lists and objects as JSON in a string, a single value for a
list of one, all arguments within another object, and empty values where nothing is meant. Whatever
stays unclear is refused as always.
"""

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.alias_generators import to_camel, to_snake

from cinder.surfaces.arguments import MAX_KEYS, Arguments, parse_json_strings
from cinder.surfaces.mcp.unsaid import leave_out_unsaid

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


def read_leniently(
    model: type[Arguments], given: Mapping[str, Any], offered: Collection[str] = ()
) -> dict[str, Any]:
    """Return the arguments that were meant, as far as that is plain.

    Whoever gives everything that was offered may have had to, and means none of the defaults.
    """
    known = {info.alias or name for name, info in model.model_fields.items()}
    unwrapped = _unwrapped(known, given)
    if len(unwrapped) > MAX_KEYS:
        # They are refused when they are read.
        return dict(unwrapped)
    renamed = _renamed(known, unwrapped)
    unpacked = parse_json_strings(model, renamed)
    listed = {key: _as_list(model, key, value) for key, value in unpacked.items()}
    return leave_out_unsaid(
        model, listed, is_all_given=bool(offered) and listed.keys() >= set(offered)
    )


def _unwrapped(known: set[str], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments that stand alone within another object."""
    if len(given) != 1:
        return given
    ((name, value),) = given.items()
    if name in known or name not in _WRAPPERS:
        return given
    if isinstance(value, str):
        value = _parsed(value)
    return value if isinstance(value, Mapping) else given


def _renamed(known: set[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments by the names that they have here, unless that one was given as well."""
    renamed: dict[str, Any] = {}
    for name, value in given.items():
        meant = _meant(known, str(name))
        is_free = meant not in given and meant not in renamed
        renamed[meant if is_free else str(name)] = value
    return renamed


def _meant(known: set[str], name: str) -> str:
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
        return [_parsed(each) if isinstance(each, str) else each for each in values]
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


def _parsed(text: str) -> Any:
    """Return the object that a text holds as JSON; the text where it holds none."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
