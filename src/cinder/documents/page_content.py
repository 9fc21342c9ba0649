"""Extracts the content of a fetched page of any text type."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

import can_ada
from html_to_markdown import ConversionError
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from cinder.html.bombs import extract_unparsed_html, find_bomb
from cinder.html.cleaning import (
    find_included,
    remove_base64_images,
    remove_chrome,
    remove_invisible,
    remove_matching,
    strip_attributes,
)
from cinder.html.deferred_content import place_deferred_content
from cinder.html.links import collect_images, collect_links, resolve_urls
from cinder.html.main_content import keep_main_content
from cinder.html.main_content.features import read_hints
from cinder.html.main_content.scorer import BlockScorer, shipped_scorer
from cinder.html.markdown.conversion import html_of, tree_to_markdown
from cinder.html.metadata.declared import truncation_warnings
from cinder.html.metadata.page_metadata import read_metadata
from cinder.html.tree import Elements, content_root, resolve_base
from cinder.html.visibility.hidden_text import HiddenText, parse_rendered_page
from cinder.html.visibility.hiding_rules import HidingRules, read_hiding_rules
from cinder.html.visible_text import count_words, visible_text
from cinder.models.document import NOTHING_INCLUDED, Extraction, HiddenPart, PageMetadata
from cinder.models.request import ExtractOptions, Format
from cinder.text.content_type import ContentKind, Shape, content_kind, decode_body
from cinder.text.invisible_characters import character_warnings, only_visible_characters

if TYPE_CHECKING:
    from cinder.documents.listings import Listing


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


_CHARS_PER_TOKEN = 4


def extract_content(
    body: bytes,
    *,
    content_type: str,
    url: str,
    options: ExtractOptions,
    scorer: BlockScorer | None = None,
    unseen: tuple[HiddenPart, ...] = (),
) -> Extraction:
    """Turn a page into the formats asked for.

    Args:
        body: the page as it came.
        content_type: the whole Content-Type header, empty when there was none.
        url: where the page finally came from.
        options: what to produce.
        scorer: what tells the main content; None for the one that comes with the package.
        unseen: the parts of the page that a browser showed to nobody, in its order.

    Raises:
        InvalidRequest: one of the caller's selectors is not valid CSS.
    """
    text = decode_body(body, content_type)
    kind = content_kind(content_type, text)
    if kind.shape is Shape.HTML:
        return _Page(text, url, options, scorer, unseen).extract()
    if kind.shape is Shape.BINARY:
        named = content_type or "the type of the body"
        return Extraction(
            warnings=(f"The page is not text ({named}): it has no content to clean.",)
        )
    listed = _read_listed(text, kind)
    if listed is None or listed.html is None:
        return _with_warning(_extract_plain(text, kind, options), listed.warning if listed else "")
    return _extract_listed(text, listed, url, options)


def _read_listed(text: str, kind: ContentKind) -> "Listing | None":
    # A process that only ever reads pages need not load what reads feeds.
    from cinder.documents.listings import read_listed  # noqa: PLC0415

    return read_listed(text, kind)


def _extract_listed(text: str, listed: "Listing", url: str, options: ExtractOptions) -> Extraction:
    """Turn a list into content the way its HTML would be, whole."""
    whole = replace(
        options, content=replace(options.content, only_main_content=False), strip_chrome_tags=False
    )
    body = (listed.html or "").encode("utf-8", "replace")
    made = extract_content(body, content_type="text/html; charset=utf-8", url=url, options=whole)
    return _with_warning(replace(made, text=text, metadata=listed.metadata), listed.warning)


def _with_warning(extraction: Extraction, warning: str) -> Extraction:
    if not warning:
        return extraction
    return replace(extraction, warnings=(*extraction.warnings, warning))


def _extract_plain(text: str, kind: ContentKind, options: ExtractOptions) -> Extraction:
    markdown = plain_to_markdown(text, kind) if options.wants_markdown else None
    counted = text if markdown is None else markdown
    return Extraction(
        text=text,
        markdown=markdown,
        html=plain_to_html(text) if Format.HTML in options.formats else None,
        links=() if Format.LINKS in options.formats else None,
        images=() if Format.IMAGES in options.formats else None,
        word_count=count_words(counted),
        token_count=_count_tokens(counted),
        warnings=character_warnings(counted),
    )


@dataclass(slots=True)
class _Content:
    """The part of a page that is its content, and its addresses."""

    roots: list[LexborNode]
    links: tuple[str, ...] | None
    images: tuple[str, ...] | None
    warnings: tuple[str, ...] = ()

    @property
    def html(self) -> str:
        return "\n".join(map(html_of, self.roots))

    @property
    def text(self) -> str:
        return "\n".join(visible_text(root) for root in self.roots)


class _Page:
    """An HTML page on its way to becoming content."""

    def __init__(
        self,
        text: str,
        url: str,
        options: ExtractOptions,
        scorer: BlockScorer | None,
        unseen: tuple[HiddenPart, ...],
    ) -> None:
        self._text = text
        self._url = url
        self._options = options
        self._scorer = scorer
        self._unseen = unseen

    def extract(self) -> Extraction:
        if bomb := find_bomb(self._text):
            return self._uncleaned(bomb)
        try:
            return self._render(*self._read(parse_rendered_page(self._text, self._unseen)))
        except (SelectolaxError, ConversionError, RecursionError, ValueError) as exc:
            return self._uncleaned(str(exc)[:200] or type(exc).__name__)

    def _read(self, tree: LexborHTMLParser) -> tuple[_Content, PageMetadata]:
        elements = Elements.of_page(tree)
        base = resolve_base(_first_base(elements), self._url)
        metadata = read_metadata(elements, base, self._url)
        cuts = truncation_warnings(self._text, elements, metadata)
        selected = self._select(tree, elements, base, metadata)
        selected.warnings += cuts
        return selected, metadata

    def _uncleaned(self, reason: str) -> Extraction:
        wants_markdown = self._options.wants_markdown
        return extract_unparsed_html(self._text, wants_markdown=wants_markdown, reason=reason)

    def _select(
        self,
        tree: LexborHTMLParser,
        elements: Elements,
        base: can_ada.URL | None,
        metadata: PageMetadata,
    ) -> _Content:
        """Narrow the tree to its content, taking the links of the whole page on the way."""
        formats, content = self._options.formats, self._options.content
        if content.exclude_tags:
            remove_matching(tree, content.exclude_tags)
            elements = Elements.of_page(tree)
        body = content_root(tree)
        if body is None:
            return _Content([], (), ())
        rules = read_hiding_rules(elements)
        if self._unseen:
            rules = replace(rules, has_marks=True)
        elements = elements.within(body)
        is_changed = place_deferred_content(elements)
        included = find_included(tree, content.include_tags)
        roots = included if content.include_tags else [body]
        if content.include_tags or is_changed or rules.has_marks:
            parts = [Elements(root) for root in roots]
        else:
            parts = [elements]
        selected = _Content(
            roots,
            links=collect_links(parts, base) if Format.LINKS in formats else None,
            images=collect_images(roots, base) if Format.IMAGES in formats else None,
        )
        if content.include_tags and not included:
            selected.warnings = (NOTHING_INCLUDED,)
        self._clean(selected, parts, rules)
        # Before anything takes such characters out, and of the whole page.
        shown = "\n".join(root.text(separator="") for root in selected.roots)
        title = metadata.title or ""
        told = shown if title in shown else f"{shown}\n{title}"
        selected.warnings += character_warnings(told)
        if not content.include_tags:
            # What a caller names is the content, whatever it looks like.
            self._narrow(selected, parts, tree, metadata)
        for root, part in zip(selected.roots, parts, strict=True):
            resolve_urls(root, base, part)
        return selected

    def _clean(self, selected: _Content, parts: Sequence[Elements], rules: HidingRules) -> None:
        hidden = HiddenText()
        for part in parts:
            remove_invisible(part, rules, hidden)
            if self._options.remove_base64_images:
                remove_base64_images(part)
        selected.warnings += hidden.warnings

    def _narrow(
        self,
        selected: _Content,
        parts: Sequence[Elements],
        tree: LexborHTMLParser,
        metadata: PageMetadata,
    ) -> None:
        if self._options.content.only_main_content:
            hints = read_hints(tree, metadata, self._url)
            scorer = self._scorer or shipped_scorer()
            selected.roots = [keep_main_content(root, hints, scorer) for root in selected.roots]
            return
        for part in parts if self._options.strip_chrome_tags else ():
            remove_chrome(part)

    def _render(self, selected: _Content, metadata: PageMetadata) -> Extraction:
        html = None
        if Format.HTML in self._options.formats:
            for root in selected.roots:
                strip_attributes(root)
            html = only_visible_characters(selected.html)
        # Last, because it changes the tree.
        markdown = tree_to_markdown(selected.roots) if self._options.wants_markdown else None
        counted = selected.text if markdown is None else markdown
        return Extraction(
            text=self._text,
            markdown=markdown,
            html=html,
            links=selected.links,
            images=self._with_named_images(selected.images, metadata),
            metadata=_without_invisible(metadata),
            word_count=count_words(counted),
            token_count=_count_tokens(counted),
            warnings=selected.warnings,
        )

    def _with_named_images(
        self, images: tuple[str, ...] | None, metadata: PageMetadata
    ) -> tuple[str, ...] | None:
        """Return the images shown and, of a whole page, those that it names for previews."""
        if images is None or self._options.content.include_tags:
            return images
        return tuple(dict.fromkeys((*images, *metadata.images)))


def _first_base(elements: Elements) -> str | None:
    bases = map(elements.attributes, elements.tagged("base"))
    return next((base["href"] for base in bases if "href" in base), None)


def _without_invisible(metadata: PageMetadata) -> PageMetadata:
    title = metadata.title and only_visible_characters(metadata.title)
    description = metadata.description and only_visible_characters(metadata.description)
    if (title, description) == (metadata.title, metadata.description):
        return metadata
    return replace(metadata, title=title, description=description)


def _count_tokens(text: str) -> int:
    return -(-len(text) // _CHARS_PER_TOKEN)
