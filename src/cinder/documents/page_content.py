"""The content of a page or document in all requested formats, and the facts of an HTML string."""

import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape

import can_ada
from html_to_markdown import ConversionError
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from cinder.errors import FieldProblem, InvalidRequest
from cinder.html.bombs import UnparsedFormats, extract_unparsed_html, find_bomb
from cinder.html.cleaning import (
    find_included,
    remove_base64_images,
    remove_chrome,
    remove_invisible,
    remove_matching,
    strip_attributes,
)
from cinder.html.crawl_hints import read_crawl_hints
from cinder.html.deferred_content import open_shadow_roots, place_deferred_content
from cinder.html.hydration import may_carry_data, read_hydration
from cinder.html.links import (
    collect_images,
    collect_links,
    describe_links,
    is_data_image,
    resolve_url,
    resolve_urls,
)
from cinder.html.main_content import ContentHead, keep_main_content
from cinder.html.main_content.features import read_hints
from cinder.html.main_content.scorer import BlockScorer, shipped_scorer
from cinder.html.markdown.conversion import html_of, tree_to_markdown
from cinder.html.metadata.declared import read_declared, truncation_warnings
from cinder.html.metadata.page_metadata import read_metadata
from cinder.html.metadata.title import site_name_keys
from cinder.html.tree import (
    Elements,
    collapse,
    content_root,
    document_base,
    parse_html,
    resolve_base,
)
from cinder.html.visibility.hidden_text import HiddenText, order_warnings, parse_rendered_page
from cinder.html.visibility.hiding_rules import HidingRules, read_hiding_rules
from cinder.html.visible_text import count_words, visible_text
from cinder.models.document import (
    NOTHING_INCLUDED,
    CrawlHints,
    Extraction,
    FetchedPage,
    FetchSource,
    HiddenPart,
    HtmlFacts,
    HtmlHeading,
    LinkDetail,
    PageMetadata,
)
from cinder.models.request import ExtractOptions, Format
from cinder.text.content_type import ContentKind, Shape, content_kind, decode_body
from cinder.text.invisible_characters import character_warnings, only_visible_characters
from cinder.text.terms import estimate_tokens


def inspect_html(html: str, base_url: str = "") -> HtmlFacts:
    """Return what an HTML string contains; relative addresses are resolved against `base_url`.

    Raises:
        InvalidRequest: it would take too long to parse.
    """
    if bomb := find_bomb(html):
        raise InvalidRequest(problems=(FieldProblem("html", f"It cannot be parsed: {bomb}"),))
    tree = parse_html(html)
    base = document_base(tree, base_url)
    links = [element.attributes.get("href") or "" for element in tree.css("a[href]")]
    images = [image.attributes.get("src") or "" for image in tree.css("img")]
    root = content_root(tree)
    text = visible_text(root) if root is not None else ""
    headings = tuple(
        HtmlHeading(int((element.tag or "")[1:]), collapse(visible_text(element)))
        for element in tree.css("h1, h2, h3, h4, h5, h6")
    )
    declared = read_declared(Elements.of_page(tree))
    element = tree.css_first("meta[charset]")
    charset = element.attributes.get("charset") if element else None
    return HtmlFacts(
        title=declared.title or next((h.text for h in headings if h.level == 1), ""),
        headings=headings,
        paragraph_count=len(tree.css("p")),
        link_count=len(links),
        image_count=len(images),
        word_count=len(text.split()),
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        meta=declared.meta | ({"charset": charset} if charset else {}),
        links=_absolute(base, links),
        images=_absolute(base, images),
    )


def _absolute(base: can_ada.URL | None, addresses: list[str]) -> tuple[str, ...]:
    external = (address for address in addresses if address.strip() and not is_data_image(address))
    found = (resolve_url(base, address) for address in external)
    return tuple(dict.fromkeys(filter(None, found)))


# Indentation can multiply the size of deeply nested JSON; longer texts are left unchanged.
_PRETTY_MAX_CHARS = 200_000
_BACKTICKS = re.compile(r"`+")


def plain_to_markdown(text: str, kind: ContentKind) -> str:
    """Return text as markdown: prose unchanged, data in a fenced block."""
    text = text.removeprefix("\ufeff")
    if kind.shape is Shape.PROSE:
        return text.strip()
    if kind.shape is Shape.JSON and len(text) <= _PRETTY_MAX_CHARS:
        with suppress(ValueError, RecursionError):
            text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    longest = max((len(run[0]) for run in _BACKTICKS.finditer(text)), default=0)
    fence = "`" * max(3, longest + 1)
    inside = text.strip("\r\n")
    return f"{fence}{kind.language}\n{inside}\n{fence}"


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
        body: the page as received.
        content_type: the whole Content-Type header, empty when there was none.
        url: the URL of the page after redirects.
        options: what to produce.
        scorer: finds the main content; None for the one that comes with the package.
        unseen: the parts of the page that a browser found invisible, in document order.

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
    # Loaded on demand: most processes read only pages.
    from cinder.documents.listings import read_listed  # noqa: PLC0415

    listed = read_listed(text, kind)
    if listed is None or listed.html is None:
        extraction = _extract_plain(text, kind, options)
    else:
        # The HTML of a list is content as a whole.
        content = replace(options.content, only_main_content=False)
        whole = replace(options, content=content, strip_chrome_tags=False)
        html = listed.html.encode("utf-8", "replace")
        extraction = replace(
            extract_content(html, content_type="text/html; charset=utf-8", url=url, options=whole),
            text=text,
            metadata=listed.metadata,
        )
    if listed is not None and listed.warning:
        return replace(extraction, warnings=(*extraction.warnings, listed.warning))
    return extraction


def _extract_plain(text: str, kind: ContentKind, options: ExtractOptions) -> Extraction:
    markdown = plain_to_markdown(text, kind) if options.wants_markdown else None
    counted = text if markdown is None else markdown
    html = f"<pre>{escape(text, quote=False)}</pre>" if Format.HTML in options.formats else None
    return Extraction(
        text=text,
        markdown=markdown,
        html=html,
        links=() if Format.LINKS in options.formats else None,
        links_detail=() if Format.LINKS_DETAIL in options.formats else None,
        images=() if Format.IMAGES in options.formats else None,
        word_count=count_words(counted),
        token_count=estimate_tokens(counted),
        warnings=character_warnings(counted),
    )


# Below it, a warning says how much is kept.
_LOW_KEPT_SHARE = 0.5
# A shell's data with fewer words is no content.
_MIN_DATA_WORDS = 30
_READ_FROM_DATA = (
    "The page shows nothing without its scripts: its text was read from the data that it carries "
    "for them ({})."
)


@dataclass(slots=True)
class _Content:
    """The elements that are a page's content, and its links and images."""

    roots: list[LexborNode]
    links: tuple[str, ...] | None
    images: tuple[str, ...] | None
    links_detail: tuple[LinkDetail, ...] | None = None
    warnings: tuple[str, ...] = ()
    kept_share: float = 1.0


@dataclass(frozen=True, slots=True)
class _Page:
    """An HTML page that is turned into content."""

    text: str
    url: str
    options: ExtractOptions
    scorer: BlockScorer | None
    unseen: tuple[HiddenPart, ...]

    def extract(self) -> Extraction:
        data = None
        if may_carry_data(self.text) and self._is_shell():
            data = read_hydration(self.text)
        if data is not None and data.word_count < _MIN_DATA_WORDS:
            data = None
        # After the end of the page, where a parser continues its body.
        html = f"{self.text}<main>{data.html}</main>" if data else self.text
        if not self.unseen:
            # In a rendered page shadow roots are open already, and positions must not change.
            html = open_shadow_roots(html)
        reason = find_bomb(html)
        if reason is None:
            try:
                extraction = self._extract_parsed(parse_rendered_page(html, self.unseen))
                if data is None:
                    return extraction
                warning = _READ_FROM_DATA.format(data.source)
                return replace(extraction, warnings=(*extraction.warnings, warning))
            except (SelectolaxError, ConversionError, RecursionError, ValueError) as exc:
                reason = str(exc)[:200] or type(exc).__name__
        formats = UnparsedFormats.of(self.options)
        return extract_unparsed_html(self.text, url=self.url, formats=formats, reason=reason)

    def _is_shell(self) -> bool:
        # Loaded on demand: few pages carry data, and starting would take 5 % longer.
        from cinder.verdicts.evidence import PageEvidence  # noqa: PLC0415
        from cinder.verdicts.js_shell import find_shell_signs  # noqa: PLC0415

        page = FetchedPage(
            url=self.url,
            final_url=self.url,
            status_code=200,
            headers={"content-type": "text/html"},
            body=self.text.encode("utf-8", "replace"),
            source=FetchSource.NATIVE,
            strategy="",
        )
        return find_shell_signs(PageEvidence(page)) is not None

    def _extract_parsed(self, tree: LexborHTMLParser) -> Extraction:
        elements = Elements.of_page(tree)
        bases = map(elements.attributes, elements.tagged("base"))
        first_base = next((base["href"] for base in bases if "href" in base), None)
        base = resolve_base(first_base, self.url)
        metadata = read_metadata(elements, base, self.url)
        cuts = truncation_warnings(self.text, elements, metadata)
        has_links = Format.LINKS in self.options.formats
        hints = read_crawl_hints(elements, base) if has_links else CrawlHints()
        selected = self._select(tree, elements, base, metadata)
        selected.warnings += cuts
        html = None
        if Format.HTML in self.options.formats:
            for root in selected.roots:
                strip_attributes(root)
            html = only_visible_characters("\n".join(map(html_of, selected.roots)))
        # This comes last, because it changes the tree.
        markdown = tree_to_markdown(selected.roots) if self.options.wants_markdown else None
        counted = markdown
        if counted is None:
            counted = "\n".join(map(visible_text, selected.roots))
        images = selected.images
        if images is not None and not self.options.content.include_tags:
            # The images of a whole page include those that it names for previews.
            images = tuple(dict.fromkeys((*images, *metadata.images)))
        title = metadata.title and only_visible_characters(metadata.title)
        description = metadata.description and only_visible_characters(metadata.description)
        metadata = replace(
            metadata,
            title=title,
            description=description,
            kept_share=round(selected.kept_share, 2),
        )
        return Extraction(
            text=self.text,
            markdown=markdown,
            html=html,
            links=selected.links,
            links_detail=selected.links_detail,
            images=images,
            metadata=metadata,
            word_count=count_words(counted),
            token_count=estimate_tokens(counted),
            warnings=selected.warnings,
            hints=hints,
        )

    def _select(
        self,
        tree: LexborHTMLParser,
        elements: Elements,
        base: can_ada.URL | None,
        metadata: PageMetadata,
    ) -> _Content:
        """Narrow the tree to its content, after collecting the links of the whole page."""
        formats, content = self.options.formats, self.options.content
        if content.exclude_tags:
            remove_matching(tree, content.exclude_tags)
            elements = Elements.of_page(tree)
        body = content_root(tree)
        if body is None:
            return _Content([], (), (), ())
        rules = read_hiding_rules(elements)
        if self.unseen:
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
        self._clean(selected, parts, rules, metadata.title or "")
        # Afterwards: their words must be what a visitor sees.
        wants_detail = Format.LINKS_DETAIL in formats
        selected.links_detail = describe_links(roots, base) if wants_detail else None
        # Elements that the caller selects are content, whatever they look like.
        if not content.include_tags and content.only_main_content:
            self._keep_main_content(selected, tree, base, metadata)
        elif not content.include_tags and self.options.strip_chrome_tags:
            for part in parts:
                remove_chrome(part)
        for root, part in zip(selected.roots, parts, strict=True):
            resolve_urls(root, base, part)
        return selected

    def _keep_main_content(
        self,
        selected: _Content,
        tree: LexborHTMLParser,
        base: can_ada.URL | None,
        metadata: PageMetadata,
    ) -> None:
        """Remove everything but the main content, and warn where that is less than half."""
        scorer = self.scorer or shipped_scorer()
        head = ContentHead(
            metadata.title or "",
            metadata.images,
            site_name_keys([metadata.site_name], base.hostname if base else ""),
            # A caller may have removed the heading.
            adds_title=not self.options.content.exclude_tags,
        )
        hints = read_hints(tree, metadata, self.url)
        main = keep_main_content(selected.roots[0], hints, scorer, head)
        selected.roots = [main.root]
        selected.kept_share = main.kept_share
        if main.kept_share < _LOW_KEPT_SHARE:
            selected.warnings += (
                f"{main.kept_share:.0%} of this page's text kept; onlyMainContent: false has all.",
            )

    def _clean(
        self, selected: _Content, parts: Sequence[Elements], rules: HidingRules, title: str
    ) -> None:
        """Remove what no visitor sees, and add the warnings about it."""
        hidden = HiddenText()
        for part in parts:
            selected.warnings += order_warnings(part)
            remove_invisible(part, rules, hidden)
            if self.options.remove_base64_images:
                remove_base64_images(part)
        selected.warnings += hidden.warnings
        # Of the whole page, before later steps remove such characters.
        shown = "\n".join(root.text(separator="") for root in selected.roots)
        selected.warnings += character_warnings(shown if title in shown else f"{shown}\n{title}")
