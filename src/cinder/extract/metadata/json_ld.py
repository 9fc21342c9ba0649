"""Reads the JSON-LD of a page, however badly it is written."""

import json
import math
import re
from collections.abc import Sequence

from selectolax.lexbor import LexborNode

from cinder.extract.metadata.limits import (
    MAX_JSON_LD_CHARS,
    MAX_JSON_LD_OBJECTS,
    MAX_JSON_LD_SCRIPTS,
)
from cinder.model.document import Json

_MAX_DEPTH = 32
# Old templates hide a script's text from older browsers still.
_WRAPPING = re.compile(r"\A\s*(?://\s*)?(?:<!--|<!\[CDATA\[)|(?://\s*)?(?:-->|\]\]>)\s*\Z")
_WRAPPING_MARKS = ("<!--", "<![CDATA[", "-->", "]]>")


def read_json_ld(scripts: Sequence[LexborNode]) -> tuple[dict[str, Json], ...]:
    """Return the objects of JSON-LD scripts, members of `@graph` each for itself.

    A script that is malformed, too long or nested too deep is skipped.
    """
    objects: list[dict[str, Json]] = []
    for script in scripts[:MAX_JSON_LD_SCRIPTS]:
        objects.extend(_objects(_parse(script.text() or "")))
    return tuple(objects[:MAX_JSON_LD_OBJECTS])


def _parse(text: str) -> Json:
    if len(text) > MAX_JSON_LD_CHARS:
        return None
    # A search for the marks is far cheaper than the pattern on a long script.
    if any(mark in text for mark in _WRAPPING_MARKS):
        text = _WRAPPING.sub("", text)
    text = text.strip().rstrip(";")
    try:
        parsed = json.loads(
            text, strict=False, parse_constant=_reject_constant, parse_float=_finite_float
        )
        return _checked(parsed, 0)
    except (ValueError, RecursionError):
        return None


def _objects(value: Json) -> list[dict[str, Json]]:
    if isinstance(value, list):
        return [found for item in value for found in _objects(item)]
    if not isinstance(value, dict):
        return []
    graph = value.get("@graph")
    return _objects(graph) if isinstance(graph, list) else [value]


def _checked(value: Json, depth: int) -> Json:
    """Copy a value, refusing deep nesting and repairing text that has no UTF-8."""
    if depth > _MAX_DEPTH:
        raise ValueError("nested too deep")
    if isinstance(value, str):
        return _repaired(value)
    if isinstance(value, list):
        return [_checked(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_repaired(key): _checked(item, depth + 1) for key, item in value.items()}
    return value


def _repaired(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("too large for a number")
    return number
