"""tests.server.test_asgi"""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from cinder.app.composition import open_app
from cinder.config.settings import Settings, read_settings
from cinder.server.asgi import create_app
from cinder.server.local_access import UnsafeSettings, find_token
from tests.api.working import started
from tests.resolver import TableResolver
from tests.site import Site

PROTECTED = [
    ("POST", "/api/v2/scrape"),
    ("POST", "/v1/scrape"),
    ("POST", "/mcp"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("GET", "/docs"),
    ("GET", "/openapi.json"),
    ("GET", "/nowhere"),
]


AUTHORIZED = {"Authorization": "Bearer test-token", "Content-Type": "application/json"}
SENT_BY_PAGES = [
    ({"Origin": "http://localhost:8000"}, 200),
    ({"Sec-Fetch-Site": "same-origin"}, 200),
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "http://localhost:9999"}, 403),
    ({"Origin": "null"}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403),
]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"Accept", b"*/*"),
        (b"Authorization", b"Bearer wrong"),
        (b"Authorization", b"Bearer test-tokenx"),
        (b"Authorization", b"Basic test-token"),
        (b"Authorization", b"Bearer \xff\xfe"),
        (b"X-Api-Key", b"test-token"),
        (b"Cookie", b"cinder_session=test-token"),
    ],
)
async def test_without_the_token_nothing_opens(
    stranger: httpx2.AsyncClient, name: bytes, value: bytes
) -> None:
    for method, path in PROTECTED:
        response = await stranger.request(method, path, headers=[(name, value)])
        assert response.status_code == 401, path
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert response.json()["error"]["code"] == "UNAUTHORIZED"


async def test_health_needs_no_token(stranger: httpx2.AsyncClient) -> None:
    response = await stranger.get("/healthz")
    assert (response.status_code, response.json()["status"]) == (200, "ok")


async def test_readiness_names_every_part(client: httpx2.AsyncClient) -> None:
    response = await client.get("/readyz")
    assert response.status_code == 200
    assert response.json() == {
        "status": "ready",
        "parts": dict.fromkeys(("database", "egress", "extraction", "browser", "jobs"), "ok"),
    }


async def test_metrics_count_requests_by_surface_and_command(
    client: httpx2.AsyncClient, site: Site
) -> None:
    await client.post("/api/v2/scrape", json={"url": site.url("/article")})
    await client.post("/api/v2/scrape", json={})
    shown = (await client.get("/metrics")).text
    count = "cinder_scrape_requests_total{command"
    assert f'{count}="start",outcome="ok",surface="rest_v2"}} 1.0' in shown
    assert f'{count}="start",outcome="VALIDATION_ERROR",surface="rest_v2"}} 1.0' in shown


async def test_a_browser_without_a_token_is_led_to_the_login(stranger: httpx2.AsyncClient) -> None:
    response = await stranger.get("/docs", headers={"Accept": "text/html"})
    assert (response.status_code, response.headers["Location"]) == (303, "/login?next=/docs")


async def test_logging_in_opens_the_pages_for_people_and_not_the_api(
    stranger: httpx2.AsyncClient,
) -> None:
    form = {"token": "test-token", "next": "/docs"}
    response = await stranger.post("/login", data=form)
    assert (response.status_code, response.headers["Location"]) == (303, "/docs")
    cookie = response.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "test-token" not in cookie
    assert (await stranger.get("/docs")).status_code == 200
    assert (await stranger.post("/v1/scrape", json={"url": "a.example"})).status_code == 401


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil", "/v1/x"])
async def test_a_login_leads_nowhere_else(stranger: httpx2.AsyncClient, target: str) -> None:
    response = await stranger.post("/login", data={"token": "test-token", "next": target})
    assert response.headers["Location"] == "/docs"


async def test_a_wrong_token_does_not_log_in(stranger: httpx2.AsyncClient) -> None:
    response = await stranger.post("/login", data={"token": "wrong", "next": "/docs"})
    assert response.status_code == 401
    assert "Set-Cookie" not in response.headers


@pytest.mark.parametrize("body", ["a=1&" * 100, "token=" + "x" * 10_000])
async def test_what_no_login_page_sends_is_refused_unread(
    stranger: httpx2.AsyncClient, body: str
) -> None:
    response = await stranger.post("/login", content=body)
    assert response.status_code == 400
    assert "Set-Cookie" not in response.headers


@pytest.mark.parametrize("until", ["1", "9" * 11, "9" * 400, "-1", "\u0661", ""])
async def test_a_session_that_ended_or_was_made_up_opens_nothing(
    stranger: httpx2.AsyncClient, until: str
) -> None:
    made = await stranger.post("/login", data={"token": "test-token"})
    stranger.cookies.clear()
    own = made.headers["Set-Cookie"].partition(";")[0].partition(".")[2]
    cookie = f"cinder_session={until}.{own}".encode()
    assert (await stranger.get("/docs", headers={b"Cookie": cookie})).status_code == 401


async def test_answers_are_taken_for_what_they_say_they_are(stranger: httpx2.AsyncClient) -> None:
    for path in ("/healthz", "/login", "/nowhere"):
        headers = (await stranger.get(path)).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"


async def test_a_body_that_does_not_come_is_not_waited_for(
    settings: Settings, resolver: TableResolver
) -> None:
    server = settings.server.model_copy(update={"body_timeout_seconds": 0.2})
    hasty = settings.model_copy(update={"server": server})
    api = create_app(hasty, open_app(hasty, resolver=resolver))

    async def dripping() -> AsyncIterator[bytes]:
        yield b'{"url":'
        await asyncio.Event().wait()

    transport = httpx2.ASGITransport(app=api)
    async with started(api), httpx2.AsyncClient(transport=transport) as client:
        for path in ("/v1/scrape", "/login"):
            response = await client.post(
                f"http://127.0.0.1{path}", content=dripping(), headers=AUTHORIZED
            )
            assert response.status_code == 408, path
            assert "server.body-timeout-seconds" in response.text


async def test_the_api_describes_itself_without_outside_help(client: httpx2.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    assert {"/api/v2/scrape", "/v1/scrape"} <= set(document["paths"])
    assert "maxChars" in document["components"]["schemas"]["ScrapeArguments"]["properties"]
    page = await client.get("/docs")
    assert 'fetch("/openapi.json")' in page.text
    assert "//" not in page.text.replace("// ", "")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]


def test_a_token_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    settings = read_settings(data_dir=tmp_path / "data")
    token = find_token(settings)
    assert token is not None
    assert len(token) >= 32
    assert find_token(settings) == token
    assert (tmp_path / "data" / "api-token").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("server", [{"host": "0.0.0.0"}, {"host": "0.0.0.0", "auth": "off"}])
def test_an_open_server_without_a_token_does_not_start(server: dict[str, str]) -> None:
    with pytest.raises(UnsafeSettings):
        find_token(read_settings(server=server))


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "NOT_FOUND"),
        ("POST", "/v1/nowhere", 404, "NOT_FOUND"),
        ("GET", "/api/v2/scrape", 405, "METHOD_NOT_ALLOWED"),
        ("PUT", "/v1/scrape", 405, "METHOD_NOT_ALLOWED"),
    ],
)
async def test_an_unknown_route_or_method_has_its_error(
    client: httpx2.AsyncClient, method: str, path: str, status: int, code: str
) -> None:
    response = await client.request(method, path)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


async def test_without_a_token_only_our_own_names_are_answered(
    settings: Settings, resolver: TableResolver
) -> None:
    server = settings.server.model_copy(
        update={"auth": "off", "allowed_hosts": ("cinder.example",)}
    )
    keyless = settings.model_copy(update={"server": server})
    api = create_app(keyless, open_app(keyless, resolver=resolver))
    transport = httpx2.ASGITransport(app=api)
    async with started(api), httpx2.AsyncClient(transport=transport) as client:
        for host in ("127.0.0.1:8000", "localhost", "[::1]:8000", "cinder.example"):
            response = await client.get("http://127.0.0.1/metrics", headers={"Host": host})
            assert response.status_code == 200, host
        for host in ("evil.example", "localhost:8000@evil.example", "localhost:1:2", ""):
            response = await client.get("http://127.0.0.1/metrics", headers={"Host": host})
            assert response.status_code == 403, host
            assert response.json()["error"]["code"] == "FORBIDDEN"
        for sent, status in SENT_BY_PAGES:
            headers = {"Host": "localhost:8000", **sent}
            response = await client.get("http://127.0.0.1/metrics", headers=headers)
            assert response.status_code == status, sent


def test_a_blank_token_is_no_token() -> None:
    with pytest.raises(UnsafeSettings):
        find_token(read_settings(server={"host": "0.0.0.0", "api_token": ""}))


def test_an_empty_token_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "api-token").touch()
    with pytest.raises(UnsafeSettings):
        find_token(read_settings(data_dir=tmp_path))


async def test_the_api_describes_itself_the_same_way_each_time(client: httpx2.AsyncClient) -> None:
    # Completing the document adds to it: it is done once.
    answers = [(await client.get("/openapi.json")).content for _ in range(3)]
    assert len(set(answers)) == 1


def test_a_server_without_an_issuer_loads_nothing_for_its_tokens() -> None:
    code = "import sys, cinder.server.asgi; sys.exit('jwt' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
