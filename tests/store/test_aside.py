"""Versions set aside: what is kept of them, and where."""

import sqlite3
from pathlib import Path

from cinder.model.saved import SavedKind
from tests.store.conftest import open_at
from tests.store.samples import Clock, a_document, a_key


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
