from pathlib import Path

import pytest

import cinder
from tests.egress.ways_out import WayOut, find_names, find_ways_out

_PACKAGE = Path(cinder.__file__).parent

# Every way out there is, and why it may be there. Whoever adds one says here why it cannot reach
# what the address policy refuses; pages, robots, sitemaps, pictures, webhooks and searches go
# through fetch/http_client.py or fetch/static.py, and with them through the egress proxy.
_ALLOWED = {
    WayOut("app/composition.py", "open_connection"): "knocks on the proxy of the settings",
    WayOut("egress/dialers.py", "open_connection"): "dials the addresses that the guard has pinned",
    WayOut("egress/resolver.py", "getaddrinfo"): "answers the guard, which judges what comes",
    WayOut("egress/resolver.py", "socket"): "for getaddrinfo",
    WayOut("browser/process.py", "posix_spawn"): "the browser, which uses the egress proxy",
    WayOut("browser/profiles.py", "socket"): "for this machine's name",
    WayOut("browser/remote.py", "curl_cffi"): "asks the browser of the settings, by the proxy",
    WayOut(
        "fetch/http_client.py", "curl_cffi"
    ): "the client that knows no way but the egress proxy",
    WayOut("fetch/curl.py", "curl_cffi"): "names of errors",
    WayOut("fetch/curl.py", "curl_cffi"): "asks through the proxy that it is set up with",
    WayOut("fetch/static.py", "curl_cffi"): "fetches pages through the egress proxy",
    WayOut("fetch/curl.py", "curl_cffi"): "names of options",
    WayOut("jobs/pgqueuer_engine.py", "asyncpg"): "the database of the settings",
    WayOut("jobs/pgqueuer_engine.py", "import_module"): "loads a module by a name in the source",
    WayOut("jobs/pgqueuer_queue.py", "pgqueuer"): "the database of the settings",
    WayOut("jobs/pgqueuer_queue.py", "asyncpg"): "the database of the settings",
    WayOut("jobs/pgqueuer_queue.py", "pgqueuer"): "the database of the settings",
    WayOut("sandbox/pool.py", "create_subprocess_exec"): "cinder's own parser",
    WayOut("store/postgres.py", "asyncpg"): "the database of the settings",
    WayOut("server/request_limits.py", "uvicorn"): "accepts connections, and makes none",
    WayOut("cli/doctor.py", "http.client"): "the server of the settings",
    WayOut("cli/doctor.py", "subprocess"): "asks fontconfig which scripts have a font",
    WayOut("cli/serve.py", "fork"): "asks whether this system can fork",
    WayOut("cli/serve.py", "uvicorn"): "accepts connections, and makes none",
    WayOut("server/workers.py", "import_module"): "loads modules by names in the source",
    WayOut("server/workers.py", "socket"): "listens, and makes no connections",
    WayOut("cli/backends.py", "http.client"): "the server of the settings",
    WayOut("server/shared_listener.py", "getaddrinfo"): "the address to listen on",
    WayOut("server/shared_listener.py", "socket"): "listens, and makes no connections",
    WayOut("server/workers.py", "fork"): "the server's own workers",
    WayOut("server/forwarding.py", "open_unix_connection"): "another worker of this server",
    WayOut("worker_group.py", "open_unix_connection"): "another worker of this server",
}


def test_nothing_leads_out_but_what_is_known_to() -> None:
    assert find_ways_out(_PACKAGE) == set(_ALLOWED)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import socket", "socket"),
        ("import http.client as quiet", "http.client"),
        ("from http import client", "http.client"),
        ("from urllib.request import urlopen", "urlopen"),
        ("from urllib import request", "urllib.request"),
        ("import subprocess\nsubprocess.run(['curl', url])", "subprocess"),
        ("from curl_cffi.requests import AsyncSession", "curl_cffi"),
        ("import asyncio\nasyncio.open_connection('a', 1)", "open_connection"),
        ("loop.create_datagram_endpoint(x)", "create_datagram_endpoint"),
        ("from asyncio import open_connection as ask", "open_connection"),
        ("def inner():\n    import httpx2", "httpx2"),
        ("getattr(asyncio, 'open_connection')('a', 1)", "open_connection"),
        ("import os\nos.system('curl a')", "system"),
        ("__import__('soc' + 'ket')", "__import__"),
        ("exec(text)", "exec"),
    ],
)
def test_a_new_way_out_is_found_however_it_is_written(source: str, name: str) -> None:
    assert name in set(find_names(source))


@pytest.mark.parametrize(
    "source",
    ["from http import HTTPStatus", "from urllib.parse import quote", "import re\nre.compile('a')"],
)
def test_what_leads_nowhere_is_not_taken_for_a_way_out(source: str) -> None:
    assert set(find_names(source)) == set()
