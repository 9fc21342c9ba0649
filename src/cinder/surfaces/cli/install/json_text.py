"""Entries in a JSON file: the text with one more, or one changed, and all else as it was."""

import json
import re

from cinder.model.document import Json
from cinder.surfaces.cli.install.base import CannotKeep, Entry, renew

_FIRST_INDENT = re.compile(r"\{\r?\n([ \t]+)\"")


def show_json(section: str, name: str, entry: Entry) -> str:
    """Return the entry as a file of its own would have it."""
    return json.dumps({section: {name: entry}}, indent=2, ensure_ascii=False) + "\n"


def merge_json(text: str, section: str, name: str, entry: Entry) -> str:
    """Return a file's text with the entry; the very same text where that stands in it already.

    Raises:
        CannotKeep: not all that the text holds would stand in it afterwards.
    """
    document = _read(text)
    servers = document.setdefault(section, {})
    if not isinstance(servers, dict):
        raise CannotKeep(f"{section!r} is not an object in it")
    renewed = renew(servers.get(name), entry)
    if servers.get(name) == renewed:
        return text
    servers[name] = renewed
    found = _FIRST_INDENT.match(text)
    return json.dumps(document, indent=found[1] if found else 2, ensure_ascii=False) + "\n"


def _read(text: str) -> Entry:
    if not text.strip():
        return {}
    try:
        document = json.loads(text, object_pairs_hook=_without_repeats)
    except ValueError as error:
        raise CannotKeep(
            f"it is not plain JSON ({error}), and comments would be lost if it were written anew"
        ) from None
    except RecursionError:
        raise CannotKeep("it is nested too deeply") from None
    if not isinstance(document, dict):
        raise CannotKeep("it does not hold a JSON object")
    return document


def _without_repeats(pairs: list[tuple[str, Json]]) -> Entry:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise CannotKeep("a key stands twice in the same object")
    return found
