"""Pages that are text but not HTML, as markdown and as HTML."""

import json
import re
from html import escape

from cinder.extract.content_kind import ContentKind, Shape

# Indentation can multiply the size of deeply nested JSON; past this it is handed on as it is.
_PRETTY_MAX_CHARS = 200_000
_BACKTICKS = re.compile(r"`+")


def plain_to_markdown(text: str, kind: ContentKind) -> str:
    """Return text as markdown: prose as it is, data in a fenced block."""
    text = text.removeprefix("\ufeff")
    if kind.shape is Shape.PROSE:
        return text.strip()
    return _fence(_pretty_json(text) if kind.shape is Shape.JSON else text, kind.language)


def plain_to_html(text: str) -> str:
    """Return text the way a browser shows it: preformatted."""
    return f"<pre>{escape(text, quote=False)}</pre>"


def _fence(text: str, language: str) -> str:
    longest = max((len(run[0]) for run in _BACKTICKS.finditer(text)), default=0)
    fence = "`" * max(3, longest + 1)
    inside = text.strip("\r\n")
    return f"{fence}{language}\n{inside}\n{fence}"


def _pretty_json(text: str) -> str:
    if len(text) > _PRETTY_MAX_CHARS:
        return text
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
