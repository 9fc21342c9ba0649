"""The static engine's connections; what it does on them is tested through the scrape service."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cinder.app import open_app
from cinder.config import read_settings
from cinder.errors import EgressBlocked, ScrapeFailed, ScrapeTimeout
from cinder.model.request import CachePolicy, ScrapeRequest
from tests.site import Site, serve_site
from tests.site.certificate import write_certificate


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    path = tmp_path / "site.pem"
    write_certificate(path)
    return path


@pytest.fixture
def secure_site(certificate: Path) -> Iterator[Site]:
    with serve_site(certificate) as running:
        yield running


async def test_a_page_comes_over_tls_from_a_trusted_server(
    secure_site: Site, certificate: Path, tmp_path: Path
) -> None:
    egress = {"allow": [secure_site.address], "ca_file": certificate}
    async with open_app(read_settings(data_dir=tmp_path / "data", egress=egress)) as app:
        outcome = await app.scrape.scrape(ScrapeRequest(url=secure_site.url("/article")))
        redirected = secure_site.url("/redirect?to=/article")
        followed = await app.scrape.scrape(ScrapeRequest(url=redirected))
    assert outcome.document.content.metadata.title == "Ember care"
    assert followed.document.final_url == secure_site.url("/article")


async def test_a_server_that_cannot_prove_who_it_is_is_refused(
    secure_site: Site, tmp_path: Path
) -> None:
    settings = read_settings(data_dir=tmp_path / "data", egress={"allow": [secure_site.address]})
    async with open_app(settings) as app:
        with pytest.raises(ScrapeFailed, match="certificate"):
            await app.scrape.scrape(ScrapeRequest(url=secure_site.url("/article")))
    assert secure_site.hits("/article") == 0


class KeepingServer:
    """Answers each request once as many as were announced are there, and keeps connections."""

    def __init__(self) -> None:
        self.connections = 0
        self.port = 0
        self._arrivals = asyncio.Barrier(1)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with await asyncio.start_server(self._answer, "127.0.0.1", 0) as server:
            self.port = server.sockets[0].getsockname()[1]
            yield

    def expect(self, requests: int) -> None:
        self._arrivals = asyncio.Barrier(requests)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                await self._arrivals.wait()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nHello")
                await writer.drain()
        except asyncio.IncompleteReadError:
            writer.close()


async def test_connections_are_kept_for_later_requests(tmp_path: Path) -> None:
    server, many = KeepingServer(), 12
    async with server.run():
        egress = {"allow": [f"127.0.0.1:{server.port}"]}
        async with open_app(read_settings(data_dir=tmp_path / "data", egress=egress)) as app:
            for count in (many, 1, 1, many):
                server.expect(count)
                await asyncio.gather(
                    *(
                        app.scrape.scrape(
                            ScrapeRequest(
                                url=f"http://127.0.0.1:{server.port}/{number}",
                                cache=CachePolicy(force_rescrape=True),
                            )
                        )
                        for number in range(count)
                    )
                )
    assert server.connections == many


async def test_a_server_that_says_nothing_is_given_up_before_the_requests_time(
    site: Site, tmp_path: Path
) -> None:
    settings = read_settings(
        data_dir=tmp_path / "data",
        egress={"allow": [site.address]},
        scrape={"stall_timeout_seconds": 1},
    )
    async with open_app(settings) as app:
        with pytest.raises(ScrapeTimeout, match="The server did not answer in time"):
            await app.scrape.scrape(ScrapeRequest(url=site.url("/silent"), timeout_ms=60_000))
    site.release()


async def test_nothing_of_a_request_is_left_for_the_next_one(tmp_path: Path) -> None:
    heads: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
        cookie = b"set-cookie: seen=yes; path=/\r\n"
        body = b"<p>The ember glows</p>"
        head = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/html\r\n"
        writer.write(head + cookie + b"content-length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        settings = read_settings(data_dir=tmp_path, egress={"allow": [address]})
        async with open_app(settings) as app:
            for number, headers in enumerate([(("X-Api-Key", "mine"), ("X-Empty", "")), ()]):
                url = f"http://{address}/{number}"
                fresh = CachePolicy(force_rescrape=True)
                await app.scrape.scrape(ScrapeRequest(url=url, headers=headers, cache=fresh))

    first, second = heads
    assert "x-api-key: mine" in first
    assert "x-empty:" in first
    assert not any(word in second for word in ("x-api-key", "x-empty", "cookie"))
    plain = [line for line in first.splitlines() if not line.startswith(("get", "x-"))]
    assert second.splitlines()[1:] == plain


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_port_0_is_refused_by_the_address_policy(scheme: str, tmp_path: Path) -> None:
    settings = read_settings(data_dir=tmp_path / "data", egress={"allow": ["127.0.0.0/8"]})
    async with open_app(settings) as app:
        with pytest.raises(EgressBlocked):
            await app.scrape.scrape(ScrapeRequest(url=f"{scheme}://127.0.0.1:0/"))
