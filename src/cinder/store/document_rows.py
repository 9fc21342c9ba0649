"""Documents as rows: the columns of a cache entry, its bodies, and archived versions.

A version has at most one body of bytes: the screenshot of a page, the file that the URL leads to,
or the file that the text was made from. It is stored as the screenshot. The bodies of archived
versions are stored one by one, because versions often share them; the rest of the document is one
more body.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from cinder.compression import compress, decompress
from cinder.models.document import (
    ActionResult,
    Document,
    Extraction,
    FetchSource,
    Json,
    Media,
    PageMetadata,
    StoredForm,
    StoredTexts,
    Validators,
    Verdict,
)
from cinder.models.saved import PRIMARY_ORDER, SavedKind, page_path, saved_kinds
from cinder.store.database import (
    Query,
    SqlDialect,
    SqlRow,
    SqlValue,
    Statement,
    fingerprint,
    scrub,
)

_TEXT_TYPES = re.compile(r"text/|.*[/+](json|xml|javascript|yaml)$")

# The content key is stored with the options.
_CONTENT_KEY = "contentKey"

# Longer values are cut in the column, and are whole in the document.
_MAX_CHARS = {"content_type": 100, "screenshot_format": 20, "strategy_used": 50}
# A B-tree index of PostgreSQL refuses values of more than 2,704 bytes.
_MAX_URL_BYTES = 2000
_CUT_URL_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryKey:
    """The cache key of a document, its owner, and its expiry."""

    cache_key: str
    options: dict[str, Json]
    """The request's options as they may be shown: without credentials."""
    owner: str | None
    """The only caller who may see it; None where all may."""
    expires_at: datetime
    extract_query: str | None = None
    content_key: str | None = None
    """By which it is compared with other documents of its URL; None where it is not compared."""


class VersionBody(NamedTuple):
    """One body of a version: a text, or bytes."""

    kind: SavedKind
    mime: str
    content: str | bytes

    @property
    def data(self) -> bytes:
        """The content as it is hashed, measured and compressed."""
        return scrub(self.content).encode() if isinstance(self.content, str) else self.content


class EntryRow(NamedTuple):
    """The columns of a cache entry, in the order of the statement that writes them."""

    url: str
    url_hash: str
    cache_key: str
    owner: str | None
    source: str
    strategy_used: str
    content_type: str
    extract_query: str | None
    scrape_options: str
    content_length_raw: int | None
    content_length_cleaned: int | None
    content_length_extracted: int | None
    scraped_at: datetime | str
    expires_at: datetime | str
    screenshot_format: str | None
    document: str | bytes
    raw_content: str | bytes | None
    cleaned_content: str | bytes | None
    extracted_content: str | bytes | None
    screenshot: bytes | None


class VersionRow(NamedTuple):
    """The columns of a version, in the order of the statement that writes them, except its time."""

    place_hash: str
    place: str
    url: str
    url_hash: str
    cache_key: str
    owner: str | None
    title: str | None
    kind: str | None
    mime: str | None
    size: int | None
    expires_at: datetime | str


class _Rest(msgspec.Struct, kw_only=True):
    """The part of a document that has no column, as its JSON."""

    document: dict[str, Any]  # Any: the fields of a document that have a simple type
    content: Extraction
    metadata: PageMetadata
    verdict: Verdict
    validators: Validators
    # Rows from before there were screenshots have neither mark: their bytes are the file itself.
    has_screenshot: bool = msgspec.field(name="hasScreenshot", default=False)
    has_original: bool = msgspec.field(name="hasOriginal", default=False)
    actions: tuple[ActionResult, ...] = ()
    columns: dict[str, str] = {}
    """Values that are cut in their column."""


class _ArchivedRest(msgspec.Struct):
    """The document of an archived version, except its bodies."""

    columns: dict[str, str]
    scraped_at: datetime
    rest: _Rest


def _names(kind: type[Any], but: str) -> tuple[str, ...]:  # Any: any dataclass
    return tuple(field.name for field in fields(kind) if field.name not in but.split())


_CONTENT = _names(Extraction, but="text markdown metadata hints derived")
_DOCUMENT = _names(
    Document,
    but="url source strategy content_type scraped_at content media original screenshot actions "
    "verdict validators extracted",
)

_read_rest = msgspec.json.Decoder(_Rest).decode
_read_archived_rest = msgspec.json.Decoder(_ArchivedRest).decode
# What msgspec cannot encode is a mapping that is not a dictionary. It writes NaN as null.
_encode = msgspec.json.Encoder(enc_hook=dict).encode


def hash_url(url: str) -> str:
    """Return the hash by which a URL's entries are looked up; it ignores the fragment."""
    return fingerprint(url.partition("#")[0])


def encode_entry(document: Document, key: EntryKey, dialect: SqlDialect) -> EntryRow:
    """Return the cache entry of a document."""
    content, media = document.content, _media_of(document)
    stored = content.stored or StoredTexts()
    raw, raw_length = _pack(content.text, stored.text, dialect)
    cleaned, cleaned_length = _pack(content.markdown, stored.markdown, dialect)
    extracted, extracted_length = _pack(document.extracted, None, dialect)
    options = key.options
    if key.content_key is not None:
        options = {**options, _CONTENT_KEY: key.content_key}
    whole = {
        "strategy_used": scrub(document.strategy),
        "content_type": scrub(document.content_type),
        "screenshot_format": scrub(media.mime) if media else "",
    }
    cut = {name: value[: _MAX_CHARS[name]] for name, value in whole.items()}
    whole["url"] = cut["url"] = document.url
    if len(document.url.encode()) > _MAX_URL_BYTES:
        cut["url"] = document.url[:_CUT_URL_CHARS]
    columns = {name: value for name, value in whole.items() if value != cut[name]}
    rest = {
        "document": {name: getattr(document, name) for name in _DOCUMENT},
        "content": {name: getattr(content, name) for name in _CONTENT},
        "metadata": content.metadata,
        "verdict": document.verdict,
        "validators": document.validators,
        "hasScreenshot": document.screenshot is not None,
        "hasOriginal": document.original is not None,
        "actions": document.actions,
        **({"columns": columns} if columns else {}),
    }
    return EntryRow(
        url=cut["url"],
        url_hash=hash_url(document.url),
        cache_key=key.cache_key,
        owner=key.owner,
        source=document.source,
        strategy_used=cut["strategy_used"],
        content_type=cut["content_type"],
        extract_query=key.extract_query and scrub(key.extract_query),
        # With spaces, as PostgreSQL writes it: `content_key_pattern` matches them.
        scrape_options=msgspec.json.format(_write_json(options), indent=0),
        content_length_raw=raw_length,
        content_length_cleaned=cleaned_length,
        content_length_extracted=extracted_length,
        scraped_at=dialect.pack_timestamp(document.scraped_at),
        expires_at=dialect.pack_timestamp(key.expires_at),
        screenshot_format=cut["screenshot_format"] if media else None,
        document=dialect.pack_text(_write_json(rest)),
        raw_content=raw,
        cleaned_content=cleaned,
        extracted_content=extracted,
        screenshot=media.data if media else None,
    )


def _pack(
    text: str | None, packed: bytes | None, dialect: SqlDialect
) -> tuple[str | bytes | None, int | None]:
    """Return a text as its column has it, and its length; `packed` is the text compressed."""
    if text is None:
        return None, None
    if packed is not None and dialect.stored_form is StoredForm.COMPRESSED:
        return packed, len(text)
    return dialect.pack_text(scrub(text)), len(text)


def encode_version(document: Document, key: EntryKey, dialect: SqlDialect) -> VersionRow:
    """Return the row of a document's version."""
    place, title = page_path(document.url), document.content.metadata.title
    texts = (document.content.text, document.content.markdown, document.extracted)
    bodies = _list_bodies(document.content_type, *texts, _media_of(document))
    kinds = saved_kinds(document)
    kind = next((kind for kind in PRIMARY_ORDER if kind in kinds), None)
    # The body that lists show. Where there is no raw text, the raw body is the file, which is last.
    primary = None if kind is None else {body.kind: body for body in bodies}.get(kind, bodies[-1])
    return VersionRow(
        place_hash=fingerprint(place),
        place=place,
        url=document.url,
        url_hash=hash_url(document.url),
        cache_key=key.cache_key,
        owner=key.owner,
        title=None if title is None else scrub(title),
        kind=kind,
        mime=primary and scrub(primary.mime),
        size=primary and len(primary.data),
        expires_at=dialect.pack_timestamp(key.expires_at),
    )


def content_key_pattern(content_key: str) -> str:
    """Return the LIKE pattern of the options of entries with a content key.

    In any other value the quotes would be escaped.
    """
    return f'%"{_CONTENT_KEY}": "{content_key}"%'


def decode_entry(row: SqlRow, dialect: SqlDialect) -> Document:
    """Return the document of a cache entry."""
    rest = _read_rest(dialect.unpack_text(row["document"]))
    columns = _columns(row, rest)
    return _assemble(
        columns,
        dialect.unpack_timestamp(row["scraped_at"]),
        rest,
        _decode_bodies(row, columns, dialect),
    )


def decode_verdict(row: SqlRow, dialect: SqlDialect) -> Verdict:
    """Return the verdict on the document of a cache entry."""
    return _read_rest(dialect.unpack_text(row["document"])).verdict


def decode_body(row: SqlRow, kind: SavedKind, dialect: SqlDialect) -> VersionBody | None:
    """Return the body of a cache entry from its `text`, or else from its `data`.

    The row has the document where the MIME type may be cut in its column.
    """
    columns: Mapping[str, str] = {}
    if row["document"] is not None:
        columns = _read_rest(dialect.unpack_text(row["document"])).columns
    if row["text"] is not None:
        content_type = columns.get("content_type", row["content_type"])
        return VersionBody(kind, text_mime(kind, content_type), dialect.unpack_text(row["text"]))
    if row["data"] is None:
        return None
    return VersionBody(
        kind, columns.get("screenshot_format", row["screenshot_format"]), row["data"]
    )


def text_mime(kind: SavedKind, content_type: str) -> str:
    """Return the MIME type of a body that is text."""
    if kind is SavedKind.CLEANED:
        return "text/markdown"
    if kind is SavedKind.EXTRACTED:
        return "application/json"
    # The text of a file that is not text, such as a PDF, does not have its type.
    is_text = kind is SavedKind.RAW and _TEXT_TYPES.match(content_type)
    return content_type if is_text else "text/plain"


def _media_of(document: Document) -> Media | None:
    return document.media or document.original or document.screenshot


def _list_bodies(
    content_type: str,
    raw: str | None,
    cleaned: str | None,
    extracted: str | None,
    media: Media | None,
) -> list[VersionBody]:
    texts = {SavedKind.RAW: raw, SavedKind.CLEANED: cleaned, SavedKind.EXTRACTED: extracted}
    bodies = [
        VersionBody(kind, text_mime(kind, content_type), text)
        for kind, text in texts.items()
        if text is not None
    ]
    if media is not None:
        bodies.append(VersionBody(SavedKind.SCREENSHOT, media.mime, media.data))
    return bodies


def _write_json(value: object) -> str:
    try:
        text = _encode(value).decode()
    except UnicodeEncodeError:  # lone surrogates
        text = "\\u0000"
    if "\\u0000" in text:
        text = _encode(_scrub_all(msgspec.to_builtins(value, enc_hook=dict))).decode()
    return text


def _scrub_all(value: Json) -> Json:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list | tuple):
        return [_scrub_all(item) for item in value]
    if isinstance(value, dict):
        return {scrub(name): _scrub_all(item) for name, item in value.items()}
    return value


def _columns(row: SqlRow, rest: _Rest) -> Mapping[str, Any]:  # Any: as the database has them
    names = ("url", "source", "strategy_used", "content_type", "screenshot_format")
    return {name: row[name] for name in names} | rest.columns


def _assemble(
    columns: Mapping[str, Any],  # Any: the same
    scraped_at: datetime,
    rest: _Rest,
    bodies: Sequence[VersionBody],
) -> Document:
    texts = {body.kind: body.content for body in bodies if isinstance(body.content, str)}
    files = (Media(b.mime, b.content) for b in bodies if isinstance(b.content, bytes))
    media = next(files, None)
    return Document(
        url=columns["url"],
        source=FetchSource(columns["source"]),
        strategy=columns["strategy_used"],
        content_type=columns["content_type"],
        scraped_at=scraped_at,
        content=replace(
            rest.content,
            text=texts.get(SavedKind.RAW),
            markdown=texts.get(SavedKind.CLEANED),
            metadata=rest.metadata,
        ),
        media=None if rest.has_screenshot or rest.has_original else media,
        original=media if rest.has_original else None,
        screenshot=media if rest.has_screenshot else None,
        actions=rest.actions,
        verdict=rest.verdict,
        validators=rest.validators,
        extracted=texts.get(SavedKind.EXTRACTED),
        **rest.document,
    )


def _decode_bodies(
    row: SqlRow, columns: Mapping[str, str], dialect: SqlDialect
) -> list[VersionBody]:
    def unpack(value: SqlValue) -> str | None:
        return None if value is None else dialect.unpack_text(value)

    data = row["screenshot"]
    return _list_bodies(
        columns["content_type"],
        unpack(row["raw_content"]),
        unpack(row["cleaned_content"]),
        unpack(row["extracted_content"]),
        None if data is None else Media(columns["screenshot_format"], data),
    )


# The columns of an entry that `archive_version` reads.
ENTRY_COLUMNS = """
version_id, url, source, strategy_used, content_type, scraped_at, screenshot_format,
document, raw_content, cleaned_content, extracted_content, screenshot
"""

# The kind of the body that holds the rest of an archived document.
_REST = "document"
_RAW_KINDS = (SavedKind.RAW, SavedKind.SCREENSHOT)

_ADD_BODY = "INSERT INTO webhook.bodies (hash, data) VALUES ($1, $2) ON CONFLICT DO NOTHING"

_ADD_VERSION_BODY = """
INSERT INTO webhook.version_bodies (version_id, kind, mime, hash) VALUES ($1, $2, $3, $4)
"""

_FIND_BODIES = """
SELECT vb.kind, vb.mime, b.data
  FROM webhook.version_bodies vb JOIN webhook.bodies b ON b.hash = vb.hash
 WHERE vb.version_id = $1
"""


def archive_version(entry: SqlRow, dialect: SqlDialect) -> Query[None]:
    """Move a document that is about to be replaced out of its entry."""
    text = dialect.unpack_text(entry["document"])
    columns = _columns(entry, _read_rest(text))
    bodies = [
        (body.kind.value, body.mime, body.data) for body in _decode_bodies(entry, columns, dialect)
    ]
    scraped_at = dialect.unpack_timestamp(entry["scraped_at"]).isoformat()
    names = ("url", "source", "strategy_used", "content_type")
    whole = json.dumps({name: columns[name] for name in names}, ensure_ascii=False)
    rest = f'{{"columns": {whole}, "scraped_at": "{scraped_at}", "rest": {text}}}'
    bodies.append((_REST, "application/json", rest.encode()))
    # In the order of the hashes, so that two saves of the same bodies cannot deadlock.
    hashed = sorted((sha256(data).hexdigest(), kind, mime, data) for kind, mime, data in bodies)
    for digest, kind, mime, data in hashed:
        yield Statement(_ADD_BODY, (digest, compress(data)))
        yield Statement(_ADD_VERSION_BODY, (entry["version_id"], kind, mime, digest))


def find_archived_version(version_id: int, *, with_raw: bool) -> Query[Document | None]:
    """Return the document of an archived version; None where only its bodies are stored."""
    rows = yield Statement(_FIND_BODIES, (version_id,))
    rest: _ArchivedRest | None = None
    bodies = []
    for row in rows:
        if row["kind"] == _REST:
            rest = _read_archived_rest(decompress(row["data"]))
        elif with_raw or row["kind"] not in _RAW_KINDS:
            bodies.append(decode_archived_body(row, SavedKind(row["kind"])))
    if rest is None:
        return None
    return _assemble(rest.columns, rest.scraped_at, rest.rest, bodies)


def decode_archived_body(row: SqlRow, kind: SavedKind) -> VersionBody:
    """Return the body of an archived version."""
    data = decompress(row["data"])
    is_text = row["kind"] != SavedKind.SCREENSHOT
    return VersionBody(kind, row["mime"], data.decode() if is_text else data)
