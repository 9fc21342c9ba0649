"""The URLs that providers are asked under: a query is a value in them, and never more."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, urlencode

import can_ada

from cinder.model.url import origin_of, parse_web_url

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_AFTER_AUTHORITY = re.compile(r"[/\\?#]")


def parse_base_url(text: str) -> str:
    """Return the canonical URL that parameters can be added to.

    Raises:
        ValueError: it is no web URL, or has parameters of its own.
    """
    url = parse_web_url(text)
    parsed = can_ada.parse(url)
    if parsed.search or parsed.hash:
        raise ValueError("It must have no parameters of its own: nothing after ? or #")
    return url


def with_parameters(base: str, parameters: Mapping[str, str]) -> str:
    """Return a URL with parameters added, all of them escaped.

    Raises:
        ValueError: it is too long.
    """
    return parse_web_url(f"{base}?{encode_form(parameters).decode()}")


def encode_form(fields: Mapping[str, str]) -> bytes:
    """Return fields as a form sends them."""
    return urlencode(fields, errors="replace", quote_via=quote, safe="").encode()


@dataclass(frozen=True, slots=True)
class UrlTemplate:
    """A URL with `{names}` in its path or parameters, for values to take their place."""

    text: str
    names: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a template.

        Raises:
            ValueError: it is no web URL, or a name stands where it would choose the server.
        """
        text = text.strip().partition("#")[0]
        scheme, separator, rest = text.partition("://")
        authority = _AFTER_AUTHORITY.split(rest, maxsplit=1)[0]
        if not separator or "{" in scheme or "{" in authority:
            raise ValueError("It must begin with https:// or http:// and a host without {…}")
        parse_web_url(_PLACEHOLDER.sub("x", text))
        return cls(text, frozenset(_PLACEHOLDER.findall(text)))

    @property
    def origin(self) -> str:
        """Who is asked, whatever the values."""
        return origin_of(parse_web_url(_PLACEHOLDER.sub("x", self.text)))

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the URL with a value for each name, escaped.

        Raises:
            ValueError: the URL is too long, or a value would lead to another path.
        """
        url = parse_web_url(
            _PLACEHOLDER.sub(
                lambda found: quote(values[found[1]], safe="", errors="replace"), self.text
            )
        )
        # Dots alone, however they are escaped, are steps in a path.
        if _depth(url) != _depth(parse_web_url(_PLACEHOLDER.sub("x", self.text))):
            raise ValueError("A query of dots would lead to another path")
        return url


def _depth(url: str) -> int:
    return can_ada.parse(url).pathname.count("/")
