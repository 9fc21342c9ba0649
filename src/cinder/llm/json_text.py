"""JSON in what a model wrote, and numbers in what its provider did."""

import json
from collections.abc import Mapping
from typing import Never

from cinder.model.document import Json

_MAX_COUNT = 10**12
_END_OF_THOUGHT = "</think>"
_FENCE = "```"


def find_json(text: str) -> Json:
    """Return the JSON of an answer, which may have thoughts, a fence or sentences round it.

    Raises:
        ValueError: there is none, or it cannot be kept.
    """
    text = text.rpartition(_END_OF_THOUGHT)[2].strip()
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    try:
        value = _decode(decoder, text)
        # Half of a surrogate pair can be written as an escape, and then never be saved.
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("it has half a character in it") from None
    return value


def _decode(decoder: json.JSONDecoder, text: str) -> Json:
    try:
        whole: Json = decoder.decode(text)
    except ValueError as error:
        problem = error
    else:
        return whole
    # An object further on may stand inside one that is broken, and would be taken for the whole.
    for start in (text.find("{", text.find(_FENCE)), text.find("{")):
        try:
            found: Json = decoder.raw_decode(text, start)[0] if start >= 0 else None
        except ValueError:
            continue
        if found is not None:
            return found
    raise ValueError(f"it is not JSON: {problem}")


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is no value in JSON")


def count_at(value: Json, name: str) -> int | None:
    """Return the count of a name in an object; None where there is no sensible one."""
    found = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < _MAX_COUNT:
        return None
    return found
