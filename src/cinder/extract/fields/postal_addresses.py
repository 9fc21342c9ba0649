"""Postal addresses that stand in one text, taken apart: street, town, region, code, country."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from cinder.extract.fields.candidates import Candidate
from cinder.extract.fields.words import words_of

_MAX_CHARS = 250
_MAX_PARTS = 8
_ADDRESS = words_of("address")
_TRUST = 0.9
_POSTAL = re.compile(
    r"\b(?:\d{5}(?:-\d{4})?|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|"
    r"\d{4} ?[A-Z]{2}|\d{4})(?!\w)"
)
_REGION = re.compile(r"[A-Z]{2,3}\Z")
_LINES = re.compile(r"\s*[,\n]\s*")


def address_parts(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield the parts of what is called an address, each under its own name."""
    for each in candidates:
        if each.label == _ADDRESS and len(each.text) <= _MAX_CHARS:
            for name, text in split_address(each.text):
                yield replace(
                    each,
                    text=text,
                    label=words_of(name),
                    path=_ADDRESS,
                    weight=each.weight * _TRUST,
                )


def split_address(text: str) -> list[tuple[str, str]]:
    """Return the parts of an address by name, as far as they can be told without guessing."""
    parts = [part for part in _LINES.split(text.strip())[:_MAX_PARTS] if part]
    place = next((n for n in range(len(parts) - 1, 0, -1) if _POSTAL.search(parts[n])), None)
    if place is None or not any(character.isdigit() for character in parts[0]):
        return []
    postal = _POSTAL.findall(parts[place])[-1]
    beside = parts[place].replace(postal, "").strip(" -")
    found = [("street", parts[0]), ("postal code", postal)]
    if _REGION.match(beside) or not beside:
        # `Springfield, IL 62701`, or the code on a line of its own.
        found += [("region", beside)] if beside else []
        found += [("city", parts[place - 1])] if place > 1 else []
    else:
        found.append(("city", beside))
    if place + 1 == len(parts) - 1 and not any(map(str.isdigit, parts[-1])):
        found.append(("country", parts[-1]))
    return found
