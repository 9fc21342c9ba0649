"""The static engine over TLS; what it does on plain http is tested through the scrape service."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cinder.app import open_app
from cinder.config import read_settings
from cinder.errors import ScrapeFailed
from cinder.model.request import ScrapeRequest
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
