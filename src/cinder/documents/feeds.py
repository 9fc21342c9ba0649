"""Parses feeds (RSS, Atom, JSON Feed) and sitemaps."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape

from cinder.html.metadata.dates import normalise_date
from cinder.html.tree import collapse
from cinder.models.document import Json
from cinder.xml_tree import XmlNode

MAX_FEED_ITEMS = 500
_MAX_SHORT_CHARS = 1_000
_FIRST_TAG = re.compile(r"<(?:[\w.-]{1,40}:)?([A-Za-z][\w.-]{0,40})")
_LOOKED_AT = 4_096
_JSON_FEED = re.compile(r"https?://(?:www\.)?jsonfeed\.org/version/")
# Anything else that looks like a tag in a title may be its subject.
_TITLE_TAG = re.compile(
    r"</?(?:a|abbr|b|big|br|cite|code|del|em|font|i|ins|mark|q|s|small|span|strong|sub|sup|tt|u|wbr)"
    r"(?:\s[^<>]{0,500})?/?>",
    re.IGNORECASE,
)
# The elements that feeds begin with, and sitemaps or sitemap indexes.
FEED_TAGS = ("rss", "feed", "rdf")
SITEMAP_TAGS = ("urlset", "sitemapindex")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedItem:
    """An entry of a feed; `html` is its content."""

    title: str = ""
    link: str = ""
    date: str = ""
    author: str = ""
    html: str = ""
    image: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A feed with its items in their original order."""

    title: str = ""
    link: str = ""
    description: str = ""
    language: str = ""
    author: str = ""
    updated: str = ""
    items: tuple[FeedItem, ...] = ()
    item_count: int = 0
    """How many items it has, including those beyond the limit."""


def first_tag(text: str) -> str:
    """Return the name of the first element of an XML text, lower-case."""
    found = _FIRST_TAG.search(text[:_LOOKED_AT])
    return found[1].lower() if found else ""


def read_feed(root: XmlNode) -> Feed:
    """Parse an RSS or Atom document."""
    if root.name == "feed":
        entries = [node for node in root.children if node.name == "entry"]
        return Feed(
            title=_atom_title(root),
            link=_short(_atom_link(root)),
            description=_short(root.text_of("subtitle", "tagline")),
            language=_short(root.attributes.get("lang", "")),
            author=_atom_author(root),
            updated=_date(root.text_of("updated", "modified")),
            items=tuple(_read_atom_entry(entry) for entry in entries[:MAX_FEED_ITEMS]),
            item_count=len(entries),
        )
    channel = root.find("channel") or root
    # In RSS 1.0 the items are siblings of the channel.
    items = [node for holder in (channel, root) for node in holder.children if node.name == "item"]
    return Feed(
        title=_title(channel),
        link=_short(_rss_link(channel)),
        description=_short(channel.text_of("description")),
        language=_short(channel.text_of("language")),
        author=_short(channel.text_of("managingeditor", "creator")),
        updated=_date(channel.text_of("lastbuilddate", "pubdate", "date")),
        items=tuple(
            FeedItem(
                title=_title(item),
                link=_short(_rss_link(item)),
                date=_date(item.text_of("pubdate", "date", "published")),
                author=_short(item.text_of("creator", "author")),
                html=item.text_of("encoded", "description", "summary"),
                image=_image(item),
            )
            for item in items[:MAX_FEED_ITEMS]
        ),
        item_count=len(items),
    )


def read_json_feed(text: str) -> Feed | None:
    """Parse a JSON Feed; None where the text is not one."""
    if not _JSON_FEED.search(text[:_LOOKED_AT]):
        return None
    try:
        feed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(feed, dict) or not _JSON_FEED.match(_text_value(feed, "version")):
        return None
    raw_items = feed.get("items")
    listed = raw_items if isinstance(raw_items, list) else []
    items = [item for item in listed if isinstance(item, dict)]
    return Feed(
        title=_short(_text_value(feed, "title")),
        link=_text_value(feed, "home_page_url"),
        description=_short(_text_value(feed, "description")),
        language=_short(_text_value(feed, "language")),
        author=_json_author(feed),
        items=tuple(
            FeedItem(
                title=_short(_text_value(item, "title")),
                link=_text_value(item, "url", "external_url"),
                date=_date(_text_value(item, "date_published", "date_modified")),
                author=_json_author(item),
                html=_text_value(item, "content_html")
                or _as_paragraph(_text_value(item, "content_text", "summary")),
                image=_text_value(item, "image", "banner_image"),
            )
            for item in items[:MAX_FEED_ITEMS]
        ),
        item_count=len(items),
    )


def _title(node: XmlNode) -> str:
    """Return the text of a title that may be HTML."""
    title = node.text_of("title")[: 2 * _MAX_SHORT_CHARS]
    return _short(unescape(_TITLE_TAG.sub("", title)))


def _atom_title(node: XmlNode) -> str:
    title = node.find("title")
    is_html = title is not None and title.attributes.get("type") in ("html", "text/html")
    return _title(node) if is_html else _short(node.text_of("title"))


def _rss_link(node: XmlNode) -> str:
    # A channel may have Atom links, which have no text.
    if link := node.text_of("link"):
        return link
    guid = node.find("guid")
    if guid is not None and guid.text.startswith(("http://", "https://")):
        return guid.text
    return _atom_link(node)


def _image(item: XmlNode) -> str:
    for child in item.children:
        kind, address = child.attributes.get("type", ""), child.attributes.get("url", "")
        is_picture = child.name == "thumbnail" or child.attributes.get("medium") == "image"
        is_file = child.name in ("enclosure", "content") and kind.startswith("image/")
        if address and (is_picture or is_file):
            return address
    return ""


def _read_atom_entry(entry: XmlNode) -> FeedItem:
    body = entry.find("content", "summary")
    html = ""
    if body is not None:
        kind = body.attributes.get("type", "text")
        is_html = kind in ("html", "text/html")
        html = body.text if is_html else _as_paragraph(body.text)
        html = body.inner_html if kind == "xhtml" else html
    return FeedItem(
        title=_atom_title(entry),
        link=_short(_atom_link(entry)),
        date=_date(entry.text_of("published", "updated", "issued", "modified")),
        author=_atom_author(entry),
        html=html,
        image=_image(entry),
    )


def _atom_link(node: XmlNode) -> str:
    links = [child for child in node.children if child.name == "link"]
    chosen = [link for link in links if link.attributes.get("rel", "alternate") == "alternate"]
    return chosen[0].attributes.get("href", "") if chosen else ""


def _atom_author(node: XmlNode) -> str:
    author = node.find("author")
    return _short(author.text_of("name") or author.text) if author is not None else ""


def _json_author(table: Mapping[str, Json]) -> str:
    found = table.get("authors")
    authors = found if isinstance(found, list) else [table.get("author")]
    names = (_text_value(author, "name") for author in authors if isinstance(author, dict))
    return _short(", ".join(filter(None, names)))


def _text_value(table: Mapping[str, Json], *names: str) -> str:
    """Return the first text that is not empty under some names."""
    values = (table.get(name) for name in names)
    return next((value for value in values if value and isinstance(value, str)), "")


def _as_paragraph(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _short(text: str) -> str:
    return collapse(text[: 2 * _MAX_SHORT_CHARS])[:_MAX_SHORT_CHARS]


def _date(text: str) -> str:
    return normalise_date(text) if text else ""


MAX_SITEMAP_ENTRIES = 10_000


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """A URL, and when its page last changed, where the site declares it."""

    address: str
    modified: str = ""


def read_sitemap(root: XmlNode) -> list[SitemapEntry]:
    """Return the entries of a sitemap, or the sitemaps of an index."""
    return [
        SitemapEntry(address, _date(node.text_of("lastmod")))
        for node in root.children
        if (address := collapse(node.text_of("loc")))
    ]
