"""Where a recipe belongs: the site and the shape of a page's address, and the wish."""

import hashlib
import json
import re
from collections.abc import Iterator

import can_ada

from cinder.model.recipe import RecipePlace
from cinder.services.extraction.stages import ReadPage, Wish

_MAX_SHAPE_CHARS = 300
_MAX_SUMMARY_CHARS = 300
_MAX_PARAMETERS = 3
_ANY = "*"
# A program makes its pages by what follows it in the address.
_PROGRAM = re.compile(r"[\w-]+\.(?:php|aspx?|jsp|cgi|do|pl)\Z", re.IGNORECASE)
_COUNTED = re.compile(r"[0-9]|[0-9a-f]{8,}\Z", re.IGNORECASE)


def place_of(page: ReadPage, wish: Wish) -> RecipePlace:
    """Return where recipes for a page and a wish are kept."""
    asked = json.dumps([wish.schema, " ".join(wish.prompt.split())], sort_keys=True)
    return RecipePlace(
        site=site_of(page.url),
        shape=shape_of(page.url),
        wish=hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest(),
        owner=page.owner,
    )


def describe_wish(wish: Wish) -> str:
    """Return the fields of a wish, as a list shows them."""
    return ", ".join(wish.fields.names)[:_MAX_SUMMARY_CHARS]


def site_of(url: str) -> str:
    """Return the site of an address: its host, with a port that is not the scheme's."""
    return can_ada.parse(url).host.removeprefix("www.")


def shape_of(url: str) -> str:
    """Return what addresses share whose pages are likely made alike: `/lamps/*`."""
    parsed = can_ada.parse(url)
    *above, last = parsed.pathname.split("/")
    shape = "/".join(_ANY if _COUNTED.match(part) else part for part in above)
    if _PROGRAM.match(last):
        names = list(_parameter_names(parsed.search))[:_MAX_PARAMETERS]
        query = "&".join(f"{name}={_ANY}" for name in names)
        shape = f"{shape}/{last}?{query}" if query else f"{shape}/{last}"
    else:
        shape = f"{shape}/{_ANY if last else ''}"
    return shape[:_MAX_SHAPE_CHARS]


def _parameter_names(query: str) -> Iterator[str]:
    names = {pair.partition("=")[0] for pair in query.removeprefix("?").split("&")}
    return (name for name in sorted(names) if name and not name.startswith("utm_"))
