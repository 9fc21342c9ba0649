"""Values in a provider's JSON, by their paths; what is not there, or of another kind, is blank."""

from cinder.model.document import Json

_MAX_STEPS = 20
_MAX_NUMBER = 1e15


def value_at(value: Json, path: str) -> Json:
    """Return what stands at a path such as `data.items.0`; None where there is nothing.

    A blank path is the value itself.
    """
    for step in path.split(".", _MAX_STEPS) if path else ():
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def text_at(value: Json, path: str) -> str:
    """Return the text or number at a path, as text."""
    found = value_at(value, path)
    if isinstance(found, bool) or not isinstance(found, (str, int, float)):
        return ""
    return str(found)


def number_at(value: Json, path: str) -> float | None:
    """Return the number at a path; None where there is none of a common size."""
    found = value_at(value, path)
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        return None
    return float(found) if abs(found) < _MAX_NUMBER else None
