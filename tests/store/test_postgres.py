"""PostgreSQL: what an operator sees in it, and what a caller sees of its failures."""

import inspect
from contextlib import suppress

import asyncpg
import pytest
from structlog.testing import capture_logs

from cinder.errors import CacheFailed
from cinder.store.postgres import DRIVER_ERRORS
from tests.site import Canary
from tests.store.conftest import open_at
from tests.store.postgres import PostgresServer
from tests.store.samples import NOW, Clock, a_full_document, a_key

SEEN_BY_AN_OPERATOR = """
SELECT url, raw_content, cleaned_content, extracted_content, extract_query, source, content_type,
       content_length_raw, screenshot_format, strategy_used, scrape_options ->> 'note' AS note,
       scraped_at, document #>> '{metadata,title}' AS title
  FROM webhook.scrape_cache
"""


@pytest.fixture
def url(postgres: PostgresServer, postgres_template: str) -> str:
    return postgres.create_database(postgres_template)


async def test_an_entry_can_be_read_with_sql(url: str) -> None:
    async with open_at(url, Clock()) as store:
        await store.save(a_full_document(), a_key())
        connection = await asyncpg.connect(url)
        try:
            row = await connection.fetchrow(SEEN_BY_AN_OPERATOR)
        finally:
            await connection.close()
    assert row is not None
    assert dict(row) == {
        "url": "https://example.com/article",
        "raw_content": "<h1>Grüße 🎉</h1>",
        "cleaned_content": "# Grüße 🎉\n",
        "extracted_content": "the extracted 🜂 text",
        "extract_query": "What is it?",
        "source": "browser",
        "content_type": "text/html",
        "content_length_raw": 16,
        "screenshot_format": "image/png",
        "strategy_used": "static",
        "note": "nul \ufffd, surrogate \ufffd",
        "scraped_at": NOW,
        "title": "Grüße 🎉",
    }


def test_every_failure_of_the_driver_is_translated() -> None:
    messages = (asyncpg.PostgresLogMessage, asyncpg.InterfaceWarning)
    unmapped = [
        name
        for name, kind in vars(asyncpg.exceptions).items()
        if inspect.isclass(kind)
        and issubclass(kind, Exception)
        and not issubclass(kind, (*DRIVER_ERRORS, *messages))
    ]
    assert unmapped == []


async def test_a_server_that_is_not_there_is_said_so() -> None:
    with pytest.raises(CacheFailed):
        async with open_at("postgresql://postgres@/none?host=/no/such/folder", Clock()):
            pass


async def test_the_servers_address_stands_in_the_log_and_in_no_failure(canary: Canary) -> None:
    port = canary.port
    canary.close()
    url = f"postgresql://postgres@127.0.0.1:{port}/none"
    with capture_logs() as log, pytest.raises(CacheFailed) as failed:
        async with open_at(url, Clock()):
            pass
    assert "CINDER_STORE__URL" in failed.value.message
    assert str(port) not in failed.value.message
    assert "127.0.0.1" not in failed.value.message
    assert str(port) in str([line.get("error") for line in log])


async def test_a_lost_connection_fails_one_call_and_not_the_store(url: str) -> None:
    async with open_at(url, Clock()) as store:
        await store.save(a_full_document(), a_key())
        await disconnect_everyone(url)
        with suppress(CacheFailed):
            await store.find("key")
        assert await store.find("key") is not None


async def disconnect_everyone(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    finally:
        await connection.close()
