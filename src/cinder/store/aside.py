"""Versions set aside: how a document is kept that another has replaced in its entry.

Its bodies are kept one by one, since versions often share them; all else of it is one more.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from operator import itemgetter

from cinder.model.document import Document
from cinder.model.saved import SavedKind
from cinder.store.bodies import Body, to_bytes
from cinder.store.codec import assemble, decode_bodies
from cinder.store.dialect import Dialect, compress, decompress
from cinder.store.procedure import Procedure, Row, Statement

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


def set_aside(entry: Row, dialect: Dialect) -> Procedure[None]:
    """Move a document that is about to be replaced out of its entry."""
    parts = [(body.kind.value, body.mime, body.content) for body in decode_bodies(entry, dialect)]
    parts.append((_REST, "application/json", _write_rest(entry, dialect)))
    hashed = [_hash(*part) for part in parts]
    # In order of hash, so that two saves of the same bodies cannot wait for each other.
    for digest, kind, mime, data in sorted(hashed, key=itemgetter(0)):
        yield Statement(_ADD_BODY, (digest, compress(data)))
        yield Statement(_ADD_VERSION_BODY, (entry["version_id"], kind, mime, digest))


def find_aside(version_id: int, *, with_raw: bool) -> Procedure[Document | None]:
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


def _write_rest(entry: Row, dialect: Dialect) -> str:
    columns = json.dumps({name: entry[name] for name in _COLUMNS}, ensure_ascii=False)
    moment = dialect.unpack_moment(entry["scraped_at"]).isoformat()
    rest = dialect.unpack_text(entry["document"])
    return f'{{"columns": {columns}, "scraped_at": "{moment}", "rest": {rest}}}'


def _read_bodies(rows: Sequence[Row]) -> list[Body]:
    bodies = [Body(SavedKind(r["kind"]), r["mime"], r["data"]) for r in rows if r["kind"] != _REST]
    return [body._replace(content=_read_content(body)) for body in bodies]


def _read_content(body: Body) -> str | bytes:
    data = decompress(to_bytes(body.content))
    return data if body.kind is SavedKind.SCREENSHOT else data.decode()


def _hash(kind: str, mime: str, content: str | bytes) -> tuple[str, str, str, bytes]:
    data = to_bytes(content)
    return sha256(data).hexdigest(), kind, mime, data
