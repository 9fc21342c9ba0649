import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cinder.app.composition import open_app
from cinder.config.settings import read_settings
from cinder.errors import ContentTooLarge, EgressBlocked, ScrapeFailed, ScrapeTimeout
from cinder.fetch.static import MAX_MEMBERS, is_end_of_member, unpack_members
from cinder.models.request import CachePolicy, ScrapeRequest
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


ENOUGH = 1_000_000


def test_members_are_joined_and_what_follows_them_is_left_out() -> None:
    packed = gzip.compress(b"a" * 50_000) + gzip.compress(b"") + gzip.compress(b"b")
    for rest in (b"", b"\0" * 20, b"no member"):
        assert unpack_members(packed + rest, ENOUGH) == (b"a" * 50_000 + b"b", True)


def test_a_last_member_that_breaks_off_gives_what_came_of_it() -> None:
    packed = gzip.compress(b"a") + gzip.compress(b"b")[:-8]
    assert unpack_members(packed, ENOUGH) == (b"ab", False)


@pytest.mark.parametrize("chunk", [1, 3, 7, 1_000])
def test_a_member_ends_with_the_checksum_and_length_of_what_it_holds(chunk: int) -> None:
    data = bytes(range(256)) * 40
    packed = gzip.compress(data)
    assert is_end_of_member(data, _in_chunks(packed, chunk)[-128:])
    for cut in (1, 4, 8, 100):
        assert not is_end_of_member(data, _in_chunks(packed[:-cut], chunk)[-128:])


def test_what_ends_before_anything_was_unpacked_is_no_member() -> None:
    packed = gzip.compress(b"a", mtime=0)
    assert not any(is_end_of_member(b"", packed[:count]) for count in range(1, 11))
    assert is_end_of_member(b"", gzip.compress(b""))


def _in_chunks(packed: bytes, size: int) -> bytes:
    pieces = [packed[start : start + size] for start in range(0, len(packed), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def test_a_damaged_member_is_told() -> None:
    with pytest.raises(zlib.error):
        unpack_members(gzip.compress(b"a") + b"\x1f\x8b\x08\xff" + b"damage" * 9, ENOUGH)


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(b"a" * 1_000) * 2_000,
        gzip.compress(bytes(64 * ENOUGH)),
        gzip.compress(b"") * (MAX_MEMBERS + 1),
    ],
)
def test_more_than_is_taken_is_refused(packed: bytes) -> None:
    with pytest.raises(ContentTooLarge):
        unpack_members(packed, ENOUGH)
