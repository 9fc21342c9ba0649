"""Entries in a TOML file: a table of their own at its end, and all else as it was."""

import json
import re
import tomllib
from collections.abc import Iterable
from datetime import date, datetime, time
from typing import Any

from cinder.surfaces.cli.install.base import CannotKeep, Entry, renew

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def show_toml(section: str, name: str, entry: Entry) -> str:
    """Return the entry as a table."""
    lines = [f"[{section}.{_key(name)}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in entry.items()]
    return "\n".join(lines) + "\n"


def merge_toml(text: str, section: str, name: str, entry: Entry) -> str:
    """Return a file's text with the entry; the very same text where that stands in it already.

    Raises:
        CannotKeep: it is not written as tables that can be exchanged, or is no TOML.
    """
    before = _read(text)
    servers = before.setdefault(section, {})
    if not isinstance(servers, dict):
        raise CannotKeep(f"{section!r} is not a table in it")
    renewed = renew(servers.get(name), entry)
    if servers.get(name) == renewed:
        return text
    kept = _without_table(text, f"[{section}.{_key(name)}") if name in servers else text
    before_it = f"{kept.rstrip()}\n\n" if kept.strip() else ""
    merged = before_it + show_toml(section, name, renewed)
    servers[name] = renewed
    try:
        is_right = _read(merged) == before
    except CannotKeep:
        is_right = False
    if not is_right:
        raise CannotKeep(f"{section!r} is not written as one table for each server")
    return merged


def _without_table(text: str, begin: str) -> str:
    """Return a text without a table and those beneath it; comments after it belong to the next."""
    kept: list[str] = []
    after: list[str] = []
    is_within = False
    for line in text.splitlines(keepends=True):
        stripped = line.strip()
        if stripped.startswith("["):
            is_within = stripped == f"{begin}]" or stripped.startswith(f"{begin}.")
        if not is_within:
            kept += [*after, line]
            after.clear()
        elif not stripped or stripped.startswith("#"):
            after.append(line)
        else:
            after.clear()
    return "".join([*kept, *after])


def _read(text: str) -> dict[str, Any]:  # Any: what TOML holds, dates among it
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise CannotKeep(f"it is not valid TOML ({error})") from None


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _value(name)


def _value(value: object) -> str:
    match value:
        case dict():
            return (
                f"{{ {_joined(f'{_key(key)} = {_value(each)}' for key, each in value.items())} }}"
            )
        case list():
            return f"[{_joined(map(_value, value))}]"
        case datetime() | date() | time():
            raise CannotKeep("a date stands among what is entered already")
        case _:
            # What JSON writes of a text, TOML reads as the same text.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _joined(parts: Iterable[str]) -> str:
    return ", ".join(parts)
