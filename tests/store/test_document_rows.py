"""Versions set aside: what is kept of them, and where."""

import base64
import json
import sqlite3
from dataclasses import fields, replace
from datetime import datetime
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cinder.documents.stored_texts import prepare_texts
from cinder.models.document import Document, Extraction, Json, Media, PageMetadata
from cinder.models.request import OWNER
from cinder.models.saved import SavedKind
from cinder.store.database import POSTGRESQL, SQLITE, SqlDialect
from cinder.store.document_rows import decode_entry, encode_entry
from cinder.store.documents import Store
from cinder.store.index.full_text import read_page
from tests.store.conftest import open_at
from tests.store.golden import DOCX, GOLDEN, a_file, a_long_url, an_old_document
from tests.store.samples import Clock, a_document, a_full_document, a_full_metadata, a_key

# JSON's own characters and both that cannot be stored come up often.
TEXTS = st.text(st.one_of(st.characters(exclude_categories=()), st.sampled_from('\x00\ud800\\"u0')))
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)
NUMBERS = count()


def storable(value: Json) -> Json:
    if isinstance(value, str):
        return "".join("\ufffd" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {str(storable(name)): storable(item) for name, item in value.items()}
    return value


@pytest.mark.parametrize("value", [a_full_document(), a_full_document().content, a_full_metadata()])
def test_the_full_document_leaves_no_field_at_its_default(
    value: Document | Extraction | PageMetadata,
) -> None:
    for field in fields(value):
        if field.name not in ("media", "original"):
            assert getattr(value, field.name) != field.default


async def test_a_full_document_comes_back_as_it_was_saved(store: Store) -> None:
    document = a_full_document()
    saved = await store.save(document, a_key())
    assert await store.find("key") == saved
    assert saved.document == document


@pytest.mark.parametrize("dialect", [SQLITE, POSTGRESQL])
def test_texts_that_come_in_the_form_of_the_store_are_written_as_they_are(
    dialect: SqlDialect,
) -> None:
    document = a_full_document()
    prepared = replace(document, content=replace(document.content))
    texts = prepare_texts(document.content, dialect.stored_form)
    assert texts is not None
    prepared.content.keep_stored(texts)
    assert encode_entry(prepared, a_key(), dialect) == encode_entry(document, a_key(), dialect)
    assert read_page(prepared) == read_page(document)


async def test_values_longer_than_their_columns_come_back_whole(store: Store) -> None:
    document = replace(a_file(), url=a_long_url(), final_url=a_long_url())
    saved = await store.save(document, a_key())
    assert await store.find("key") == saved
    assert saved.document == document
    raw = await store.read(saved.version, SavedKind.RAW, "anyone")
    assert raw is not None
    assert (raw.url, raw.mime) == (a_long_url(), DOCX)
    await store.save(a_document(url=a_long_url()), a_key())
    (archived,) = await store.find_versions([saved.version], "anyone")
    assert archived == saved
    raw = await store.read(saved.version, SavedKind.RAW, "anyone")
    assert raw is not None
    assert raw.mime == DOCX


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("full", an_old_document()),
        ("file", a_file()),
        ("page", a_document()),
        ("empty", a_document(None)),
    ],
)
def test_entries_of_schema_0009_are_decoded(dialect: str, name: str, document: Document) -> None:
    row = json.loads((GOLDEN / "entries.json").read_text())[f"{name} {dialect}"]
    row = {
        name: base64.b64decode(value["base64"]) if isinstance(value, dict) else value
        for name, value in row.items()
    }
    if dialect == "sqlite":
        assert decode_entry(row, SQLITE) == document
    else:
        scraped_at = datetime.fromisoformat(row["scraped_at"])
        assert decode_entry(row | {"scraped_at": scraped_at}, POSTGRESQL) == document


async def test_a_file_comes_back_as_a_file_and_not_as_a_screenshot(store: Store) -> None:
    document = replace(a_document(None), media=Media("image/png", b"\x89PNG"))
    await store.save(document, a_key())
    found = await store.find("key")
    assert found is not None
    assert found.document == document


async def test_a_parsed_file_comes_back_with_its_text_and_is_the_raw_body(store: Store) -> None:
    content = Extraction(markdown="# Paper", metadata=PageMetadata(title="Paper", page_count=2))
    original = Media("application/pdf", b"%PDF-1.7")
    document = replace(
        a_document(), content=content, content_type="application/pdf", original=original
    )
    saved = await store.save(document, a_key())
    assert await store.find("key") == saved
    assert saved.document == document
    assert list(saved.uris) == [SavedKind.RAW, SavedKind.CLEANED]
    raw = await store.read(saved.version, SavedKind.RAW, OWNER)
    assert raw is not None
    assert (raw.mime, raw.data) == ("application/pdf", b"%PDF-1.7")
    cleaned = await store.read(saved.version, SavedKind.CLEANED, OWNER)
    assert cleaned is not None
    assert (cleaned.mime, cleaned.text) == ("text/markdown", "# Paper")


def test_an_entry_from_before_there_were_screenshots_is_read_as_it_was() -> None:
    document = replace(a_document(), media=Media("image/png", b"\x89PNG"))
    row = encode_entry(document, a_key(), POSTGRESQL)._asdict()
    rest = json.loads(row["document"])
    del rest["hasScreenshot"], rest["actions"]
    assert decode_entry(row | {"document": json.dumps(rest)}, POSTGRESQL) == document


async def test_a_document_without_any_content_comes_back(store: Store) -> None:
    document = a_document(None)
    await store.save(document, a_key())
    found = await store.find("key")
    assert found is not None
    assert found.document == document
    assert await store.list_saved("owner") == []


async def test_empty_bodies_stay_apart_from_missing_ones(store: Store) -> None:
    document = replace(a_document(""), media=Media("image/png", b""), extracted="")
    await store.save(document, a_key())
    found = await store.find("key")
    assert found is not None
    assert found.document == document


async def test_ten_megabytes_of_text_come_back_whole(store: Store) -> None:
    text = "".join(f"{number}: Grüße 🎉\n" for number in range(500_000))
    saved = await store.save(a_document(text), a_key())
    found = await store.find("key")
    body = await store.read(saved.version, SavedKind.RAW, "anyone")
    assert found is not None
    assert body is not None
    expected = sha256(text.encode()).digest()
    for kept in (found.document.content.text, body.text):
        assert kept is not None
        assert sha256(kept.encode()).digest() == expected


async def test_numbers_that_json_lacks_are_kept_as_null(store: Store) -> None:
    metadata = PageMetadata(json_ld=([float("nan"), float("inf"), 1.5],))
    await store.save(replace(a_document(), content=Extraction(metadata=metadata)), a_key())
    found = await store.find("key")
    assert found is not None
    assert found.document.content.metadata.json_ld == ([None, None, 1.5],)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=TEXTS, value=JSON)
async def test_any_text_comes_back_with_only_the_unstorable_replaced(
    store: Store, text: str, value: Json
) -> None:
    document = replace(
        a_document(text),
        extracted=text,
        content=Extraction(
            text=text,
            markdown=text,
            html=text,
            links=(text,),
            metadata=PageMetadata(title=text, open_graph={text: text}, json_ld=(value,)),
        ),
    )
    key = f"key {next(NUMBERS)}"
    await store.save(document, a_key(key))
    found = await store.find(key)
    kept = str(storable(text))
    assert found is not None
    assert found.document.extracted == kept
    assert found.document.content == Extraction(
        text=kept,
        markdown=kept,
        html=kept,
        links=(kept,),
        metadata=PageMetadata(title=kept, open_graph={kept: kept}, json_ld=(storable(value),)),
    )


async def test_a_version_of_which_only_bodies_were_kept_is_read_but_not_found(
    tmp_path: Path,
) -> None:
    async with open_at(f"sqlite:///{tmp_path / 'cinder.db'}", Clock()) as store:
        saved = await store.save(a_document("first"), a_key())
        await store.save(a_document("second"), a_key())
        with sqlite3.connect(tmp_path / "cinder.db") as connection:
            connection.execute("DELETE FROM version_bodies WHERE kind = 'document'")
        connection.close()
        assert (await store.find_versions([saved.version], "anyone"))[0] is None
        body = await store.read(saved.version, SavedKind.RAW, "anyone")
        assert body is not None
        assert body.text == "first"
