"""Pages that are lists for machines, written as HTML for readers: feeds, sitemaps, tables."""

import re
from dataclasses import dataclass, field
from html import escape

from cinder.extract.bombs import find_bomb
from cinder.extract.content_kind import ContentKind, Shape
from cinder.extract.html_tree import content_root, parse_html
from cinder.extract.plain.delimited import read_delimited
from cinder.extract.plain.feeds import (
    Feed,
    FeedItem,
    first_tag,
    is_feed_tag,
    read_feed,
    read_json_feed,
)
from cinder.extract.plain.sitemaps import MAX_ENTRIES, SitemapEntry, is_sitemap_tag, read_sitemap
from cinder.model.document import PageMetadata
from cinder.xml_tree import UnreadableXml, parse_xml

_HEADING_TAG = re.compile(r"<(/?)h([1-6])(?=[\s>])")
_ITEM_LEVEL = 2


@dataclass(frozen=True, slots=True)
class Listed:
    """A list as HTML, None where it could not be made; what is left out stands in `warning`."""

    html: str | None
    metadata: PageMetadata = field(default_factory=PageMetadata)
    warning: str = ""


def read_listed(text: str, kind: ContentKind) -> Listed | None:
    """Return a text as a list, if it is one; else it is shown as it is."""
    if kind.shape is Shape.TABLE:
        return _read_table(text, kind.language)
    if kind.shape is Shape.JSON:
        feed = read_json_feed(text)
        return _list_feed(feed) if feed is not None else None
    tag = first_tag(text) if kind.language == "xml" else ""
    if not is_feed_tag(tag) and not is_sitemap_tag(tag):
        return None
    try:
        root = parse_xml(text)
    except UnreadableXml as exc:
        return Listed(None, warning=f"The {tag} could not be read and is shown as it came: {exc}.")
    return _list_feed(read_feed(root)) if is_feed_tag(tag) else _list_sitemap(read_sitemap(root))


def _read_table(text: str, language: str) -> Listed | None:
    table = read_delimited(text, language)
    if table is None:
        return None
    return Listed(table.to_html(), warning=_rest("rows", len(table.rows), table.row_count))


def _list_sitemap(entries: list[SitemapEntry]) -> Listed:
    shown = entries[:MAX_ENTRIES]
    items = "".join(
        f"<li>{_anchor(entry.address, entry.address)}{_after(entry.modified)}</li>"
        for entry in shown
    )
    return Listed(f"<ul>{items}</ul>", warning=_rest("addresses", len(shown), len(entries)))


def _list_feed(feed: Feed) -> Listed:
    parts = [f"<base href={_quoted(feed.link)}>"] if feed.link else []
    if feed.title:
        parts.append(f"<h1>{_anchor(feed.link, feed.title)}</h1>")
    if feed.description:
        parts.append(f"<p>{escape(feed.description, quote=False)}</p>")
    parts += map(_show_item, feed.items)
    metadata = PageMetadata(
        title=feed.title or None,
        description=feed.description or None,
        language=feed.language or None,
        author=feed.author or None,
        modified=feed.updated or None,
    )
    return Listed("\n".join(parts), metadata, _rest("items", len(feed.items), feed.item_count))


def _show_item(item: FeedItem) -> str:
    facts = " · ".join(filter(None, (item.date, item.author)))
    image = f"<p><img src={_quoted(item.image)} alt=''></p>" if item.image else ""
    return (
        f"<h{_ITEM_LEVEL}>{_anchor(item.link, item.title or item.link or 'Untitled')}"
        f"</h{_ITEM_LEVEL}>"
        f"{f'<p>{escape(facts, quote=False)}</p>' if facts else ''}{image}"
        f"<div>{_contained(item.html)}</div>"
    )


def _contained(html: str) -> str:
    """Return an item's HTML with nothing left open that would take in the next item."""
    if find_bomb(html):
        return escape(html, quote=False)
    tree = parse_html(html)
    # The one element that nothing closes.
    tree.unwrap_tags(["plaintext"])
    root = content_root(tree)
    inner = (root.inner_html or "") if root is not None else ""
    return _HEADING_TAG.sub(_demote, inner)


def _demote(tag: re.Match[str]) -> str:
    return f"<{tag[1]}h{min(6, int(tag[2]) + _ITEM_LEVEL)}"


def _anchor(address: str, text: str) -> str:
    shown = escape(text, quote=False)
    return f"<a href={_quoted(address)}>{shown}</a>" if address else shown


def _after(text: str) -> str:
    return f" ({escape(text, quote=False)})" if text else ""


def _quoted(text: str) -> str:
    return f'"{escape(text)}"'


def _rest(noun: str, shown: int, total: int) -> str:
    if shown == total:
        return ""
    return f"Of {total} {noun} the first {shown} are shown; the raw text has them all."
