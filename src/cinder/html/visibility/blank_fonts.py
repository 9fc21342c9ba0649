"""Blank fonts: web fonts without ink, as far as the name of the family or its file says so."""

import re

from cinder.html.css.declarations import Declarations

_FACE = re.compile(r"@font-face\s*\{([^{}]{1,2000})\}", re.IGNORECASE)
_FAMILY = re.compile(r"font-family\s*:\s*([^;]{1,100})", re.IGNORECASE)
_FILE = re.compile(
    r"url\(\s*[\"']?(?!data:)[^\"')?#]{0,500}?([^\"')?#/]{1,100})[\"')?#]", re.IGNORECASE
)
_BLANK = re.compile(r"(?:^|[^a-z])(?:adobe[ _-]?)?(?:blank|invisible)(?:$|[^a-z])")


def find_blank_fonts(sheets: str) -> frozenset[str]:
    """Return the families, in lower case, whose file in `@font-face` is named blank."""
    found: set[str] = set()
    for face in _FACE.findall(sheets):
        family = _FAMILY.search(face)
        if family and any(map(_is_blank, _FILE.findall(face))):
            found.add(_bare(family[1]))
    return frozenset(found)


def is_in_blank_font(declared: Declarations, blank_fonts: frozenset[str]) -> bool:
    """Whether the first family of a style is blank, by its own name or its file's."""
    families = declared.get("font-family") or declared.get("font")
    if not families:
        return False
    first = _bare(families.partition(",")[0])
    # The shorthand has the size before the family.
    names = (first, _bare(first.rpartition(" ")[2])) if "font-family" not in declared else (first,)
    return any(name in blank_fonts or _is_blank(name) for name in names)


def _is_blank(name: str) -> bool:
    return _BLANK.search(name.lower()) is not None


def _bare(name: str) -> str:
    return name.strip().strip("\"'").strip().lower()
