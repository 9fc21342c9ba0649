"""Renders machine-readable lists as HTML: feeds, sitemaps and delimited tables."""

import csv
import re
from collections import Counter
from dataclasses import dataclass, field
from html import escape
from io import StringIO

from cinder.documents.feeds import (
    FEED_TAGS,
    MAX_SITEMAP_ENTRIES,
    SITEMAP_TAGS,
    Feed,
    first_tag,
    read_feed,
    read_json_feed,
    read_sitemap,
)
from cinder.html.bombs import find_bomb
from cinder.html.tree import content_root, parse_html
from cinder.models.document import PageMetadata
from cinder.text.content_type import ContentKind, Shape
from cinder.xml_tree import UnreadableXml, parse_xml

MAX_TABLE_ROWS = 1_000
_MAX_COLUMNS = 100
_DELIMITERS = (",", ";", "\t", "|")
_SAMPLED_ROWS = 30
# A text with a larger share of rows that differ in width from the header is not a table.
_MAX_RAGGED = 0.1


@dataclass(frozen=True, slots=True)
class DelimitedTable:
    """The header and the first rows of a table, and how many rows there are in all."""

    header: list[str]
    rows: list[list[str]]
    row_count: int

    def to_html(self) -> str:
        """Return the table as HTML."""
        head = "".join(f"<th>{_cell_html(text)}</th>" for text in self.header)
        body = "".join(
            f"<tr>{''.join(f'<td>{_cell_html(text)}</td>' for text in row)}</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def read_delimited(text: str, language: str) -> DelimitedTable | None:
    """Parse delimited text; None where its rows do not make a table."""
    delimiter = "\t" if language == "tsv" else _find_delimiter(text)
    source = StringIO(text.removeprefix("\ufeff"), newline="")
    found = filter(any, csv.reader(source, delimiter=delimiter))
    rows: list[list[str]] = []
    count = ragged = 0
    try:
        header = next(found, [])
        width = len(header)
        for row in found:
            count += 1
            ragged += len(row) != width
            if len(rows) < MAX_TABLE_ROWS:
                # Cells beyond the header's width are joined with the last.
                joined = [*row[: width - 1], " ".join(row[width - 1 :])]
                rows.append(joined if len(row) > width else row + [""] * (width - len(row)))
    except csv.Error:
        return None
    is_table = 2 <= width <= _MAX_COLUMNS and rows and ragged <= _MAX_RAGGED * count
    return DelimitedTable(header, rows, count) if is_table else None


def _find_delimiter(text: str) -> str:
    """Return the delimiter that most lines have equally often."""
    lines = [line for line in text[:65_536].splitlines()[:_SAMPLED_ROWS] if line.strip()]

    def evenness(delimiter: str) -> tuple[int, int]:
        counts = Counter(line.count(delimiter) for line in lines)
        number, lines_with_it = counts.most_common(1)[0] if counts else (0, 0)
        return (lines_with_it, number) if number else (0, 0)

    return max(_DELIMITERS, key=evenness)


def _cell_html(text: str) -> str:
    return escape(text.strip(), quote=False).replace("\r\n", "\n").replace("\n", "<br>")


_HEADING_TAG = re.compile(r"<(/?)h([1-6])(?=[\s>])")
_ITEM_LEVEL = 2


@dataclass(frozen=True, slots=True)
class Listing:
    """A list as HTML, None where it could not be made; `warning` says what is left out."""

    html: str | None
    metadata: PageMetadata = field(default_factory=PageMetadata)
    warning: str = ""


def read_listed(text: str, kind: ContentKind) -> Listing | None:
    """Return a text as a list; None where it is not one, and is shown unchanged."""
    if kind.shape is Shape.TABLE:
        table = read_delimited(text, kind.language)
        if table is None:
            return None
        warning = _rest_warning("rows", len(table.rows), table.row_count)
        return Listing(table.to_html(), warning=warning)
    if kind.shape is Shape.JSON:
        feed = read_json_feed(text)
        return _list_feed(feed) if feed is not None else None
    tag = first_tag(text) if kind.language == "xml" else ""
    if tag not in FEED_TAGS and tag not in SITEMAP_TAGS:
        return None
    try:
        root = parse_xml(text)
    except UnreadableXml as exc:
        return Listing(None, warning=f"The {tag} could not be read and is shown as it came: {exc}.")
    if tag in FEED_TAGS:
        return _list_feed(read_feed(root))
    entries = read_sitemap(root)
    shown = entries[:MAX_SITEMAP_ENTRIES]
    items = ""
    for entry in shown:
        modified = f" ({escape(entry.modified, quote=False)})" if entry.modified else ""
        items += f"<li>{_anchor(entry.address, entry.address)}{modified}</li>"
    return Listing(
        f"<ul>{items}</ul>", warning=_rest_warning("addresses", len(shown), len(entries))
    )


def _list_feed(feed: Feed) -> Listing:
    parts = [f"<base href={_quoted(feed.link)}>"] if feed.link else []
    if feed.title:
        parts.append(f"<h1>{_anchor(feed.link, feed.title)}</h1>")
    if feed.description:
        parts.append(f"<p>{escape(feed.description, quote=False)}</p>")
    for item in feed.items:
        facts = " · ".join(filter(None, (item.date, item.author)))
        image = f"<p><img src={_quoted(item.image)} alt=''></p>" if item.image else ""
        parts.append(
            f"<h{_ITEM_LEVEL}>{_anchor(item.link, item.title or item.link or 'Untitled')}"
            f"</h{_ITEM_LEVEL}>"
            f"{f'<p>{escape(facts, quote=False)}</p>' if facts else ''}"
            f"{image}<div>{_contained(item.html)}</div>"
        )
    metadata = PageMetadata(
        title=feed.title or None,
        description=feed.description or None,
        language=feed.language or None,
        author=feed.author or None,
        modified=feed.updated or None,
    )
    return Listing(
        "\n".join(parts), metadata, _rest_warning("items", len(feed.items), feed.item_count)
    )


def _contained(html: str) -> str:
    """Return an item's HTML with every element closed, and its headings below the item's."""
    if find_bomb(html):
        return escape(html, quote=False)
    tree = parse_html(html)
    # The only element that no end tag closes.
    tree.unwrap_tags(["plaintext"])
    root = content_root(tree)
    inner = (root.inner_html or "") if root is not None else ""
    return _HEADING_TAG.sub(lambda tag: f"<{tag[1]}h{min(6, int(tag[2]) + _ITEM_LEVEL)}", inner)


def _anchor(address: str, text: str) -> str:
    shown = escape(text, quote=False)
    return f"<a href={_quoted(address)}>{shown}</a>" if address else shown


def _quoted(text: str) -> str:
    return f'"{escape(text)}"'


def _rest_warning(noun: str, shown: int, total: int) -> str:
    if shown == total:
        return ""
    return f"Of {total} {noun} the first {shown} are shown; the raw text has them all."
