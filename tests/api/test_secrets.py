"""Secrets sent through a real server: none comes out in a log, an error, metrics or options."""

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.api.running import RunningServer, run_server
from tests.mcp.reading import text_of
from tests.site import Site

API_TOKEN = "own-er-s3cr3t-0001"
PROXY_PASSWORD = "pr0xy-s3cr3t-0002"
HEADER = "h3ader-s3cr3t-0003"
QUERY = "qu3ry-s3cr3t-0004"
HOOK = "h00k-s3cr3t-0005-long-enough"
WRONG = "wr0ng-s3cr3t-0006"
SECRETS = (API_TOKEN, PROXY_PASSWORD, HEADER, QUERY, HOOK, WRONG)
HEADERS = {"Authorization": f"Bearer {HEADER}", "Cookie": f"sid={HEADER}", "X-Api-Key": HEADER}
BLOCKED = f"http://10.9.8.7/x?password={QUERY}&page=1"
WITH_USER = f"http://someone:{QUERY}@example.com/"


@dataclass(frozen=True, slots=True)
class Watched:
    """A server whose log goes to a file."""

    server: RunningServer
    data_dir: Path
    log: Path

    def client(self, token: str = API_TOKEN) -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx2.AsyncClient(
            base_url=self.server.url, headers=headers, timeout=60, trust_env=False
        )


@pytest.fixture
async def watched(tmp_path: Path, site: Site) -> AsyncIterator[Watched]:
    log, data_dir = tmp_path / "log", tmp_path / "data"
    variables = {
        "CINDER_SERVER__API_TOKEN": API_TOKEN,
        "CINDER_LOG__LEVEL": "debug",
        "CINDER_EGRESS__ALLOW": site.address,
        "CINDER_BROWSER__PROXY_SERVER": "http://127.0.0.1:9",
        "CINDER_BROWSER__PROXY_USERNAME": "someone",
        "CINDER_BROWSER__PROXY_PASSWORD": PROXY_PASSWORD,
        "CINDER_EGRESS__PROXY_POOLS": json.dumps(
            {"eu": {"proxies": [f"http://someone:{PROXY_PASSWORD}@127.0.0.1:9"]}}
        ),
    }
    async with run_server(data_dir, log=str(log), **variables) as server:
        yield Watched(server, data_dir, log)


def found_in(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


def log_lines(watched: Watched) -> list[dict[str, Any]]:
    return [json.loads(line) for line in watched.log.read_text().splitlines()]


async def test_errors_over_rest_hold_no_secret(watched: Watched, site: Site) -> None:
    failing = f"{site.url('/status')}?code=500&api_key={QUERY}"
    answers = []
    async with watched.client() as client:
        for path in ("/api/v2/scrape", "/v1/scrape"):
            for url in (BLOCKED, WITH_USER, failing):
                body = {"url": url, "headers": HEADERS} if "v2" in path else {"url": url}
                answers.append(await client.post(path, json=body))
        through_proxy = {"url": site.url("/article"), "proxy": "stealth", "mode": "static"}
        answers.append(await client.post("/api/v2/scrape", json=through_proxy))
        through_pool = {"url": site.url("/article"), "proxyPool": "eu", "mode": "static"}
        answers.append(await client.post("/api/v2/scrape", json=through_pool))
    async with watched.client(WRONG) as client:
        answers.append(await client.get(f"/v1/crawls?token={WRONG}"))
    failed = [answer for answer in answers if answer.status_code >= 400]
    assert len(failed) >= 6
    for answer in failed:
        assert found_in(answer.text) == [], answer.text
    assert found_in(watched.log.read_text()) == []


async def test_errors_over_mcp_hold_no_secret(watched: Watched) -> None:
    async with (
        watched.client() as http,
        Client(streamable_http_client(f"{watched.server.url}/mcp", http_client=http)) as client,
    ):
        for tool in ("scrape", "cinder_scrape"):
            for url in (BLOCKED, WITH_USER):
                result = await client.call_tool(tool, {"url": url})
                assert result.is_error
                assert found_in(text_of(result)) == []
    assert found_in(watched.log.read_text()) == []


async def test_metrics_and_logs_and_stored_options_hold_no_secret(
    watched: Watched, site: Site
) -> None:
    url = f"{site.url('/article')}?access_token={QUERY}&page=2"
    batch = {
        "urls": [url, BLOCKED],
        "headers": HEADERS,
        "webhook": {"url": f"{site.url('/hook')}?sig={QUERY}", "secret": HOOK},
    }
    async with watched.client() as client:
        scraped = await client.post("/api/v2/scrape", json={"url": url, "headers": HEADERS})
        assert scraped.status_code == 200, scraped.text
        started = await client.post("/api/v2/scrape", json=batch)
        assert started.status_code == 200, started.text
        metrics = await client.get("/metrics")
        assert metrics.status_code == 200
    assert found_in(metrics.text) == []
    assert found_in(watched.log.read_text()) == []
    (options,) = stored_options(watched.data_dir)
    assert found_in(options) == []
    assert json.loads(options)["url"].endswith("?access_token=…&page=2")
    assert json.loads(options)["headers"] == ["authorization", "cookie", "x-api-key"]


async def test_the_database_of_single_scrapes_has_no_header_and_no_token(
    watched: Watched, site: Site
) -> None:
    async with watched.client() as client:
        body = {"url": site.url("/article"), "headers": HEADERS}
        assert (await client.post("/api/v2/scrape", json=body)).status_code == 200
    for file in watched.data_dir.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert [secret for secret in SECRETS if secret.encode() in data] == [], file


async def test_every_outbound_decision_has_its_line_without_path_or_query(
    watched: Watched, site: Site
) -> None:
    async with watched.client() as client:
        await client.post("/api/v2/scrape", json={"url": f"{site.url('/article')}?token={QUERY}"})
        await client.post("/api/v2/scrape", json={"url": BLOCKED})
    told = [line for line in log_lines(watched) if line["event"] == "egress"]
    decided = {(line["host"], line["port"], line["decision"], line["level"]) for line in told}
    assert ("127.0.0.1", site.port, "allowed", "info") in decided
    assert ("10.9.8.7", 80, "blocked", "info") in decided
    assert {*told[0]} == {"event", "host", "port", "decision", "level", "timestamp"}


def stored_options(data_dir: Path) -> list[str]:
    (file,) = data_dir.glob("*.db")
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        (table,) = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%scrape_options%'"
        ).fetchall()
        rows = connection.execute(f'SELECT scrape_options FROM "{table[0]}"').fetchall()
    return [row[0] for row in rows]
