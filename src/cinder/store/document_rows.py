"""Documents as rows: the columns of an entry, its bodies, and its archived versions.

A version has at most one body of bytes: the screenshot of a page, the file that stands in its
place, or the file that its text was made of. Each is kept as the screenshot.

Its bodies are kept one by one, since versions often share them; all else of it is one more.
"""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from operator import itemgetter
from typing import Any, NamedTuple

from cinder.models.document import (
    ActionResult,
    Document,
    Extraction,
    FetchSource,
    Json,
    Media,
    PageMetadata,
    Validators,
    Verdict,
    VerdictKind,
)
from cinder.models.request import ActionType
from cinder.models.saved import PRIMARY_ORDER, SavedKind, page_path, saved_kinds
from cinder.store.base import EntryKey
from cinder.store.database import (
    Query,
    SqlDialect,
    SqlRow,
    SqlValue,
    Statement,
    compress,
    decompress,
    fingerprint,
    scrub,
)

_TEXT_TYPES = re.compile(r"text/|.*[/+](json|xml|javascript|yaml)$")


class VersionBody(NamedTuple):
    """One body of a version: a text, or bytes."""

    kind: SavedKind
    mime: str
    content: str | bytes


def list_bodies(
    content_type: str,
    *,
    raw: str | None,
    cleaned: str | None,
    extracted: str | None,
    picture: Media | None,
) -> list[VersionBody]:
    """Return the bodies that are there, each once."""
    texts = {SavedKind.RAW: raw, SavedKind.CLEANED: cleaned, SavedKind.EXTRACTED: extracted}
    bodies = [
        VersionBody(kind, text_mime(kind, content_type), text)
        for kind, text in texts.items()
        if text is not None
    ]
    return (
        [*bodies, VersionBody(SavedKind.SCREENSHOT, picture.mime, picture.data)]
        if picture
        else bodies
    )


def picture_of(document: Document) -> Media | None:
    """Return what a document has of bytes: the file it is or was, or its page's screenshot."""
    return document.media or document.original or document.screenshot


def primary_body(document: Document) -> VersionBody | None:
    """Return the body that a list shows for a document, or None where it has none at all."""
    kinds = saved_kinds(document)
    kind = next((kind for kind in PRIMARY_ORDER if kind in kinds), None)
    if kind is None:
        return None
    content = document.content
    bodies = list_bodies(
        document.content_type,
        raw=content.text,
        cleaned=content.markdown,
        extracted=document.extracted,
        picture=picture_of(document),
    )
    return choose_body(bodies, kind)


def choose_body(bodies: list[VersionBody], kind: SavedKind) -> VersionBody | None:
    """Return the body of a kind; where there is no raw text, the raw body is the file."""
    by_kind = {body.kind: body for body in bodies}
    found = by_kind.get(kind)
    if found is None and kind is SavedKind.RAW:
        found = by_kind.get(SavedKind.SCREENSHOT)
    return found and found._replace(kind=kind)


def text_mime(kind: SavedKind, content_type: str) -> str:
    """Return the MIME type of a body that is text."""
    if kind is SavedKind.CLEANED:
        return "text/markdown"
    if kind is SavedKind.EXTRACTED:
        return "application/json"
    # A text made of something that is none, such as a PDF's, is not of that type any more.
    is_text = kind is SavedKind.RAW and _TEXT_TYPES.match(content_type)
    return content_type if is_text else "text/plain"


def to_bytes(content: str | bytes) -> bytes:
    """Return a body's content as it is hashed, measured and compressed."""
    return content.encode() if isinstance(content, str) else content


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)

# A NUL as JSON escapes it: the backslash before the u is not itself escaped.
_ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")

# Kept with the options: it is one way to say which of them shaped the content.
_CONTENT_KEY = "contentKey"


class EntryRow(NamedTuple):
    """A cache entry's columns, in the order of the statement that writes them."""

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
    """A version's columns, in the order of the statement that writes them, but for its time."""

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


def encode_entry(document: Document, key: EntryKey, dialect: SqlDialect) -> EntryRow:
    """Return the cache entry that holds a document."""
    content, picture = document.content, picture_of(document)
    raw, cleaned, extracted = (
        text if text is None else scrub(text)
        for text in (content.text, content.markdown, document.extracted)
    )
    return EntryRow(
        url=document.url,
        url_hash=hash_url(document.url),
        cache_key=key.cache_key,
        owner=key.owner,
        source=document.source,
        strategy_used=scrub(document.strategy),
        content_type=scrub(document.content_type),
        extract_query=key.extract_query and scrub(key.extract_query),
        scrape_options=_write_json(_options_of(key)),
        content_length_raw=_length(raw),
        content_length_cleaned=_length(cleaned),
        content_length_extracted=_length(extracted),
        scraped_at=dialect.pack_moment(document.scraped_at),
        expires_at=dialect.pack_moment(key.expires_at),
        screenshot_format=scrub(picture.mime) if picture else None,
        document=dialect.pack_text(_write_json(_rest_of(document))),
        raw_content=_pack(raw, dialect),
        cleaned_content=_pack(cleaned, dialect),
        extracted_content=_pack(extracted, dialect),
        screenshot=picture.data if picture else None,
    )


def content_key_pattern(content_key: str) -> str:
    """Return what the options of an entry under a content key are LIKE.

    Within any other value the quotes would be escaped.
    """
    return f'%"{_CONTENT_KEY}": "{content_key}"%'


def decode_entry(row: SqlRow, dialect: SqlDialect) -> Document:
    """Return the document that a cache entry holds."""
    rest = json.loads(dialect.unpack_text(row["document"]))
    moment = dialect.unpack_moment(row["scraped_at"])
    return assemble(row, moment, rest, decode_bodies(row, dialect))


def assemble(
    columns: SqlRow,
    scraped_at: datetime,
    rest: dict[str, Any],  # Any: as it was written to JSON
    bodies: Sequence[VersionBody],
) -> Document:
    """Return the document of some columns, of what has no column, and of its bodies."""
    texts = {body.kind: body.content for body in bodies if isinstance(body.content, str)}
    pictures = (Media(b.mime, b.content) for b in bodies if isinstance(b.content, bytes))
    picture = next(pictures, None)
    # Rows from before there were screenshots lack the mark: their picture is a file.
    is_screenshot = rest.get("hasScreenshot", False)
    is_original = rest.get("hasOriginal", False)
    return Document(
        url=columns["url"],
        source=FetchSource(columns["source"]),
        strategy=columns["strategy_used"],
        content_type=columns["content_type"],
        scraped_at=scraped_at,
        content=Extraction(
            text=texts.get(SavedKind.RAW),
            markdown=texts.get(SavedKind.CLEANED),
            metadata=PageMetadata(**_with_tuples(rest["metadata"])),
            **_with_tuples(rest["content"]),
        ),
        media=None if is_screenshot or is_original else picture,
        original=picture if is_original else None,
        screenshot=picture if is_screenshot else None,
        actions=tuple(_decode_action(action) for action in rest.get("actions", ())),
        verdict=_decode_verdict(rest),
        validators=Validators(**rest["validators"]),
        extracted=texts.get(SavedKind.EXTRACTED),
        **rest["document"],
    )


def decode_verdict(row: SqlRow, dialect: SqlDialect) -> Verdict:
    """Return the verdict on the document that a cache entry holds."""
    return _decode_verdict(json.loads(dialect.unpack_text(row["document"])))


def encode_version(document: Document, key: EntryKey, dialect: SqlDialect) -> VersionRow:
    """Return what the registry of versions keeps of a document."""
    primary = primary_body(document)
    place = page_path(document.url)
    title = document.content.metadata.title
    return VersionRow(
        place_hash=fingerprint(place),
        place=place,
        url=document.url,
        url_hash=hash_url(document.url),
        cache_key=key.cache_key,
        owner=key.owner,
        title=None if title is None else scrub(title),
        kind=primary and primary.kind,
        mime=primary and scrub(primary.mime),
        size=primary and _size(primary.content),
        expires_at=dialect.pack_moment(key.expires_at),
    )


def decode_bodies(row: SqlRow, dialect: SqlDialect) -> list[VersionBody]:
    """Return the bodies that a cache entry holds."""
    return list_bodies(
        row["content_type"],
        raw=_unpack(row["raw_content"], dialect),
        cleaned=_unpack(row["cleaned_content"], dialect),
        extracted=_unpack(row["extracted_content"], dialect),
        picture=_picture(row),
    )


def hash_url(url: str) -> str:
    """Return the hash under which a URL's entries are found; fragments do not count."""
    return fingerprint(url.partition("#")[0])


def to_milliseconds(moment: datetime) -> int:
    """Return the whole milliseconds from 1970 to a moment."""
    return (moment - EPOCH) // MILLISECOND


def from_milliseconds(milliseconds: int) -> datetime:
    """Return the moment that lies so many milliseconds after 1970."""
    return EPOCH + milliseconds * MILLISECOND


def _names(kind: type[Any], but: str = "") -> tuple[str, ...]:  # Any: any dataclass
    return tuple(field.name for field in fields(kind) if field.name not in but.split())


_METADATA = _names(PageMetadata)
_VERDICT = _names(Verdict)
_VALIDATORS = _names(Validators)
_CONTENT = _names(Extraction, but="text markdown metadata derived")
_DOCUMENT = _names(
    Document,
    but="url source strategy content_type scraped_at content media original screenshot actions "
    "verdict validators extracted",
)
_ACTION = _names(ActionResult, but="type screenshot")


def _options_of(key: EntryKey) -> dict[str, Json]:
    return (
        key.options if key.content_key is None else {**key.options, _CONTENT_KEY: key.content_key}
    )


def _rest_of(document: Document) -> dict[str, object]:
    """Return all of a document that has no column of its own."""
    content = document.content
    return {
        "document": _pick(document, _DOCUMENT),
        "content": _pick(content, _CONTENT),
        "metadata": _pick(content.metadata, _METADATA),
        "verdict": _pick(document.verdict, _VERDICT),
        "validators": _pick(document.validators, _VALIDATORS),
        "hasScreenshot": document.screenshot is not None,
        "hasOriginal": document.original is not None,
        "actions": [_encode_action(action) for action in document.actions],
    }


def _decode_verdict(rest: dict[str, Any]) -> Verdict:  # Any: as it was written to JSON
    return Verdict(VerdictKind(rest["verdict"]["kind"]), rest["verdict"]["evidence"])


def _encode_action(action: ActionResult) -> dict[str, object]:
    encoded = _pick(action, _ACTION) | {"type": action.type}
    if action.screenshot is not None:
        data = base64.b64encode(action.screenshot.data).decode()
        encoded["screenshot"] = {"mime": action.screenshot.mime, "data": data}
    return encoded


def _decode_action(encoded: dict[str, Any]) -> ActionResult:  # Any: whatever JSON holds
    picture = encoded.get("screenshot")
    return ActionResult(
        **{name: encoded[name] for name in _ACTION},
        type=ActionType(encoded["type"]),
        screenshot=picture and Media(picture["mime"], base64.b64decode(picture["data"])),
    )


def _pick(value: object, names: tuple[str, ...]) -> dict[str, object]:
    picked = {name: getattr(value, name) for name in names}
    return {n: dict(v) if isinstance(v, Mapping) else v for n, v in picked.items()}


def _with_tuples(picked: dict[str, Any]) -> dict[str, Any]:  # Any: whatever JSON holds
    return {n: tuple(v) if isinstance(v, list) else v for n, v in picked.items()}


def _write_json(value: Mapping[str, Json] | Mapping[str, object]) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:  # JSON has no NaN and no infinities; pages have
        finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
        text = json.dumps(finite, ensure_ascii=False)
    if "\\u0000" in text:
        text = _ESCAPED_NUL.sub("\\1\ufffd", text)
    return scrub(text)


def _size(content: str | bytes) -> int:
    return len(to_bytes(scrub(content) if isinstance(content, str) else content))


def _picture(row: SqlRow) -> Media | None:
    data = row["screenshot"]
    return None if data is None else Media(row["screenshot_format"], data)


def _length(text: str | None) -> int | None:
    return None if text is None else len(text)


def _pack(text: str | None, dialect: SqlDialect) -> str | bytes | None:
    return None if text is None else dialect.pack_text(text)


def _unpack(value: SqlValue, dialect: SqlDialect) -> str | None:
    return None if value is None else dialect.unpack_text(value)


# The columns of an entry that `set_aside` reads.
ENTRY_COLUMNS = """
version_id, url, source, strategy_used, content_type, scraped_at, screenshot_format,
document, raw_content, cleaned_content, extracted_content, screenshot
"""

# Beside the kinds that a URI may name.
_REST = "document"
_COLUMNS = ("url", "source", "strategy_used", "content_type")
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
    parts = [(body.kind.value, body.mime, body.content) for body in decode_bodies(entry, dialect)]
    parts.append((_REST, "application/json", _write_rest(entry, dialect)))
    hashed = [_hash(*part) for part in parts]
    # In order of hash, so that two saves of the same bodies cannot wait for each other.
    for digest, kind, mime, data in sorted(hashed, key=itemgetter(0)):
        yield Statement(_ADD_BODY, (digest, compress(data)))
        yield Statement(_ADD_VERSION_BODY, (entry["version_id"], kind, mime, digest))


def find_archived_version(version_id: int, *, with_raw: bool) -> Query[Document | None]:
    """Return the document of a version that was set aside; None where only its bodies were."""
    rows = yield Statement(_FIND_BODIES, (version_id,))
    if not with_raw:
        rows = [row for row in rows if row["kind"] not in _RAW_KINDS]
    rest = next((decompress(row["data"]) for row in rows if row["kind"] == _REST), None)
    if rest is None:
        return None
    kept = json.loads(rest)
    moment = datetime.fromisoformat(kept["scraped_at"])
    return assemble(kept["columns"], moment, kept["rest"], _read_bodies(rows))


def _write_rest(entry: SqlRow, dialect: SqlDialect) -> str:
    columns = json.dumps({name: entry[name] for name in _COLUMNS}, ensure_ascii=False)
    moment = dialect.unpack_moment(entry["scraped_at"]).isoformat()
    rest = dialect.unpack_text(entry["document"])
    return f'{{"columns": {columns}, "scraped_at": "{moment}", "rest": {rest}}}'


def _read_bodies(rows: Sequence[SqlRow]) -> list[VersionBody]:
    bodies = [
        VersionBody(SavedKind(r["kind"]), r["mime"], r["data"]) for r in rows if r["kind"] != _REST
    ]
    return [body._replace(content=_read_content(body)) for body in bodies]


def _read_content(body: VersionBody) -> str | bytes:
    data = decompress(to_bytes(body.content))
    return data if body.kind is SavedKind.SCREENSHOT else data.decode()


def _hash(kind: str, mime: str, content: str | bytes) -> tuple[str, str, str, bytes]:
    data = to_bytes(content)
    return sha256(data).hexdigest(), kind, mime, data
