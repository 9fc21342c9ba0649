"""Search providers, as the settings name them, through egress."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cinder.app.composition import App, open_app
from cinder.config.settings import read_settings
from cinder.errors import EgressBlocked, SettingsError
from cinder.models.request import ScrapeRequest
from cinder.search.base import ProviderFailed
from tests.search.opening import asking
from tests.search_servers import (
    BraveServer,
    DuckDuckGoServer,
    JsonServer,
    OpenSearchServer,
    SearchServer,
    SearxngServer,
    serving,
    some_pages,
)
from tests.search_servers.duckduckgo import CHALLENGE
from tests.search_servers.json_engine import TOKEN
from tests.site import Canary

WEB = some_pages(12)


@asynccontextmanager
async def open_cinder(path: Path, **search: Any) -> AsyncIterator[App]:  # Any: what fields take
    async with open_app(read_settings(data_dir=path, search=search)) as app:
        yield app


async def test_each_provider_answers_from_the_private_address_that_the_owner_wrote(
    tmp_path: Path,
) -> None:
    async with (
        serving(SearxngServer(WEB)) as searxng,
        serving(BraveServer(WEB, "k")) as brave,
        serving(DuckDuckGoServer(WEB)) as duckduckgo,
        serving(OpenSearchServer(WEB)) as wiki,
        serving(JsonServer(WEB)) as inner,
        open_cinder(
            tmp_path,
            providers="inner,local,searxng,brave,duckduckgo,wiki",
            searxng_url=searxng.url,
            brave_api_key="k",
            brave_url=brave.api_url,
            duckduckgo_url=duckduckgo.html_url,
            endpoints={
                "wiki": {"description-url": wiki.description_url},
                "inner": {
                    "url": f"{inner.url}/?words={{query}}",
                    "headers": {"X-Token": TOKEN},
                    "results": "data.hits",
                    "url-field": "link.href",
                    "title-field": "name",
                    "html": True,
                },
            },
        ) as app,
    ):
        providers = app.search_providers
        found = {name: await one.search(asking("embers")) for name, one in providers.web.items()}
        findings = {finding.part: finding.problem for finding in await app.health.try_out()}
    assert providers.order == ("inner", "local", "searxng", "brave", "duckduckgo", "wiki")
    assert list(found) == ["inner", "searxng", "brave", "duckduckgo", "wiki"]
    assert {hits[3].url for hits in found.values()} == {"https://embers.example/embers/3"}
    assert {hits[3].title for hits in found.values()} == {"All about embers, part 3"}
    assert {findings[f"search:{name}"] for name in found} == {None}
    assert "Mozilla" in duckduckgo.asked[0].headers["user-agent"]
    assert searxng.asked[0].headers["user-agent"].startswith("cinder/")


async def test_the_address_of_a_provider_is_open_to_that_provider_alone(
    tmp_path: Path, canary: Canary
) -> None:
    outside = f"http://127.0.0.1:{canary.port}/"

    class Straying(OpenSearchServer):
        """Its description leads to a private address that the owner did not write."""

        def _describe(self) -> str:
            return super()._describe().replace(f"{self.url}/find", f"{outside}find")

    async with (
        serving(SearxngServer(WEB)) as searxng,
        serving(Straying(WEB)) as straying,
        open_cinder(
            tmp_path,
            providers="searxng,wiki",
            searxng_url=searxng.url,
            endpoints={"wiki": {"description-url": straying.description_url}},
        ) as app,
    ):
        with pytest.raises(EgressBlocked):
            await app.scrape.scrape(ScrapeRequest(url=f"{searxng.url}/search?q=embers"))
        with pytest.raises(ProviderFailed, match="CINDER_EGRESS__ALLOW"):
            await app.search_providers.web["wiki"].search(asking("embers"))
    assert searxng.asked == []
    assert not canary.was_reached()


async def test_trials_tell_what_is_wrong_with_each(tmp_path: Path) -> None:
    async with (
        serving(SearxngServer(WEB, formats=("html",))) as searxng,
        serving(DuckDuckGoServer(WEB)) as duckduckgo,
        open_cinder(
            tmp_path,
            providers="searxng,duckduckgo",
            searxng_url=searxng.url,
            duckduckgo_url=duckduckgo.html_url,
        ) as app,
    ):
        duckduckgo.fail_with(CHALLENGE)
        examined = [finding.part for finding in await app.health.examine()]
        findings = {finding.part: finding.problem for finding in await app.health.try_out()}
    assert "`search.formats`" in (findings["search:searxng"] or "")
    assert "takes cinder for a machine" in (findings["search:duckduckgo"] or "")
    assert not [part for part in examined if part.startswith("search")]


async def test_by_default_only_what_was_saved_is_searched(tmp_path: Path) -> None:
    async with open_cinder(tmp_path) as app:
        assert (app.search_providers.order, app.search_providers.web) == (("local",), {})


@pytest.mark.parametrize(
    ("search", "words"),
    [
        ({"providers": "searxng", "searxng_url": "https://a.example/?q="}, "search.searxng-url"),
        ({"providers": "brave", "brave_api_key": "two\nlines"}, "search.brave-api-key"),
        (
            {"providers": "brave", "brave_api_key": "k", "brave_url": "gopher://a"},
            "search.brave-url",
        ),
        (
            {"providers": "own", "endpoints": {"own": {"url": "https://a.example/"}}},
            "search.endpoints.own.url",
        ),
        (
            {"providers": "own", "endpoints": {"own": {"description-url": "nowhere:"}}},
            "search.endpoints.own.description-url",
        ),
    ],
)
async def test_what_cannot_be_used_is_an_error_of_the_settings(
    search: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=words):
        async with open_cinder(tmp_path, **search):
            pytest.fail("it opened")


async def test_a_provider_that_does_not_answer_is_given_up_in_its_own_time(tmp_path: Path) -> None:
    server: SearchServer
    async with serving(SearxngServer(WEB)) as server:
        server.stall()
        async with open_cinder(
            tmp_path,
            providers="searxng",
            searxng_url=server.url,
            searxng_timeout_seconds=0.2,
        ) as app:
            with pytest.raises(ProviderFailed, match="did not answer in time"):
                await app.search_providers.web["searxng"].search(asking("embers"))
