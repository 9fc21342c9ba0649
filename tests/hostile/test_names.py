from pathlib import Path

import pytest

from cinder.config.settings import Settings, read_settings
from tests.api.working import serve_jobs
from tests.resolver import TableResolver
from tests.site import Canary, Site

_PUBLIC = "93.184.215.14"
# Names that lead, at least with one of their addresses, to where nothing may go.
_NAMES = {
    "loopback.test": ["127.0.0.1"],
    "loopback6.test": ["::1"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "zero.test": ["0.0.0.0"],
    "private.test": ["10.1.2.3"],
    "metadata.test": ["169.254.169.254"],
    "unique-local.test": ["fd00::1"],
    "translated.test": ["64:ff9b::7f00:1"],
    "sixtofour.test": ["2002:7f00:1::1"],
    "public-then-private.test": [_PUBLIC, "127.0.0.1"],
    "private-then-public.test": ["127.0.0.1", _PUBLIC],
    "public-then-loopback6.test": [_PUBLIC, "::1"],
    "thousands.test": [*[_PUBLIC] * 4_095, "127.0.0.1"],
    "instance-data": ["169.254.169.254"],
    "db.svc.cluster.local": ["10.96.0.10"],
    "gateway.docker.internal": ["192.168.65.1"],
    "127.0.0.1.nip.test": ["127.0.0.1"],
    "localhost": ["127.0.0.1", "::1"],
    "localhost.": ["127.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
    "xn--bcher-kva.test": ["192.168.0.7"],
}


@pytest.fixture
def open_port(tmp_path: Path, site: Site, canary: Canary) -> Settings:
    """Settings that would let anybody to the canary's port, were it not for its address."""
    return read_settings(
        data_dir=tmp_path / "data",
        server={"port": 0, "api_token": "test-token"},
        egress={"allow": [site.address], "ports": [str(canary.port)]},
        scrape={"retry_wait_seconds": 0.01},
    )


async def test_no_name_leads_where_nothing_may_go(open_port: Settings, canary: Canary) -> None:
    codes = {}
    async with serve_jobs(open_port, TableResolver(_NAMES), works=False) as client:
        for name in _NAMES:
            asked = {"url": f"http://{name}:{canary.port}/", "mode": "static"}
            answer = await client.post("/api/v2/scrape", json=asked)
            codes[name] = answer.json()["error"]["code"]
    assert codes == dict.fromkeys(_NAMES, "EGRESS_BLOCKED")
    assert not canary.was_reached()


async def test_no_redirect_to_a_name_leads_where_nothing_may_go(
    open_port: Settings, site: Site, canary: Canary
) -> None:
    codes = {}
    async with serve_jobs(open_port, TableResolver(_NAMES), works=False) as client:
        for name in _NAMES:
            to = f"http://{name}:{canary.port}/"
            asked = {"url": site.url(f"/redirect?to={to}"), "mode": "static"}
            answer = await client.post("/api/v2/scrape", json=asked)
            codes[name] = answer.json()["error"]["code"]
    assert codes == dict.fromkeys(_NAMES, "EGRESS_BLOCKED")
    assert not canary.was_reached()


async def test_no_webhook_leads_where_nothing_may_go(
    open_port: Settings, site: Site, canary: Canary
) -> None:
    statuses = set()
    async with serve_jobs(open_port, TableResolver(_NAMES)) as client:
        for name in _NAMES:
            webhook = {"url": f"http://{name}:{canary.port}/"}
            asked = {"url": site.url("/article"), "maxDepth": 1, "webhook": webhook}
            answer = await client.post("/v1/crawl", json=asked)
            statuses.add(answer.status_code)
    assert statuses == {403}
    assert not canary.was_reached()
