"""A page as the signs of verdicts read it: outline, headings, addresses, each when needed."""

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

import can_ada

from cinder.fetch.verdicts.outline import (
    Outline,
    TextAmount,
    is_html,
    measure_text,
    read_outline,
    read_text,
)
from cinder.model.document import Extraction, FetchedPage, PageMetadata

_MAX_CONTENT_WORDS = 700
_MAX_HEADINGS = 12
_MAX_TITLE_CHARS = 300
_MAX_SENTENCES = 500

_HEADING = re.compile(rb"(?i)<(h[1-3])(?=[\s>])[^<>]{0,500}>")
_MAX_HEADING_BYTES = 1_000
# What sites put between a page's name and their own.
_SEPARATOR = re.compile(r"\s+[-\u2013\u2014|·•»\u203a:~]+\s+|[|\uff5c•·»]|: ")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s|(?<=[。\uff01\uff1f])|\n")


class Reading:
    """One page, read for signs; `content` is what was taken out of it, where that is known."""

    def __init__(self, page: FetchedPage, content: Extraction | None = None) -> None:
        self.page = page
        self._content = content

    @property
    def is_content_cut(self) -> bool:
        """Whether a limit cost some of the content."""
        return self._content is not None and self._content.is_partial

    @property
    def metadata(self) -> PageMetadata:
        """What the page says about itself."""
        return self._content.metadata if self._content else PageMetadata()

    @property
    def word_count(self) -> int:
        """How many words the content has."""
        return self._content.word_count if self._content else 0

    @cached_property
    def is_html(self) -> bool:
        """Whether it is a page at all."""
        return is_html(self.page)

    @cached_property
    def is_long(self) -> bool:
        """Whether there is so much to read that nothing can have been kept back."""
        return self.word_count > _MAX_CONTENT_WORDS or self.text_amount.is_much

    @cached_property
    def text_amount(self) -> TextAmount:
        """How much text shows without running a script."""
        return measure_text(self.page.body)

    @cached_property
    def outline(self) -> Outline:
        """What the page is made of, in UTF-8 whatever it came in."""
        if self._content is not None and self._content.text is not None:
            return read_outline(self._content.text.encode("utf-8", "replace"))
        return read_outline(self.page.body)

    @cached_property
    def text(self) -> str:
        """All text that shows, on one line and in lower case."""
        return " ".join(self.outline.text.lower().split())

    @cached_property
    def words(self) -> int:
        """About how many words show."""
        return self.outline.word_count

    @cached_property
    def sentence_bytes(self) -> int:
        """How much of the text is in sentences."""
        return self.outline.sentence_bytes

    @cached_property
    def title(self) -> str:
        """The page's title, in lower case."""
        title = (self.metadata.title or self.outline.title)[:_MAX_TITLE_CHARS]
        return " ".join(title.lower().split())

    @cached_property
    def headings(self) -> tuple[str, ...]:
        """The first headings of the upper three levels, in lower case."""
        return tuple(heading.lower() for heading in _headings(self.outline.markup))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the page calls itself: its title, the title's parts, its headings."""
        parts = (part.strip() for part in _SEPARATOR.split(self.title))
        return (self.title, *(part for part in parts if part), *self.headings)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The text in sentences and shorter runs, in lower case."""
        parts = _SENTENCE_END.split(self.outline.text.lower())
        return tuple(part for part in parts if part.strip())[:_MAX_SENTENCES]

    @cached_property
    def asked_path(self) -> str:
        """The path that was asked for."""
        return can_ada.parse(self.page.url).pathname

    @cached_property
    def path(self) -> str:
        """The path that it led to."""
        return can_ada.parse(self.page.final_url).pathname

    @property
    def was_led_elsewhere(self) -> bool:
        """Whether a redirect led to another page than was asked for."""
        if self.page.url == self.page.final_url:
            return False
        return self.asked_path.rstrip("/") != self.path.rstrip("/") or self.host != self.asked_host

    @cached_property
    def asked_host(self) -> str:
        """The host that was asked, without `www.`."""
        return can_ada.parse(self.page.url).hostname.removeprefix("www.")

    @cached_property
    def host(self) -> str:
        """The host that answered, without `www.`."""
        return can_ada.parse(self.page.final_url).hostname.removeprefix("www.")


def _headings(markup: bytes) -> Iterator[str]:
    for opening in islice(_HEADING.finditer(markup), _MAX_HEADINGS):
        rest = markup[opening.end() : opening.end() + _MAX_HEADING_BYTES]
        end = rest.lower().find(b"</" + opening[1].lower())
        if heading := read_text(rest[: end if end >= 0 else len(rest)]).strip():
            yield heading
