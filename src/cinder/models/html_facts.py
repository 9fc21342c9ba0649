"""Facts about an HTML string: its headings, counts, hash and meta tags."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HtmlHeading:
    """A heading of a page, h1 being level 1."""

    level: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlFacts:
    """What an HTML string holds. `links` and `images` are absolute where a base URL allows it."""

    title: str
    headings: tuple[HtmlHeading, ...]
    paragraph_count: int
    link_count: int
    image_count: int
    word_count: int
    content_hash: str
    meta: Mapping[str, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
