"""`cinder search`, on a server and without one."""

import json
from pathlib import Path

import pytest

from cinder.cli.search import format_results, format_search_notes
from tests.api.running import run_server
from tests.cli.commands import Commands, free_port
from tests.site import Site

ANSWER = {
    "query": "coals",
    "results": [
        {
            "title": "Coals",
            "url": "https://a.example/1",
            "summary": "Of coals.",
            "publishedDate": "2026-11-15T00:00:00.000Z",
        },
        {"title": "Ash", "url": "https://a.example/2", "summary": ""},
    ],
    "hasMore": True,
    "nextOffset": 12,
    "providers": [
        {"name": "web", "milliseconds": 12, "results": 10},
        {"name": "other", "milliseconds": 1, "results": 0, "error": "down"},
    ],
    "warning": "Mind the gap.",
}


def test_results_are_told_as_lines() -> None:
    assert format_results(ANSWER, 10) == (
        "11. Coals (2026-11-15)\n   https://a.example/1\n   Of coals.\n\n"
        "12. Ash\n   https://a.example/2"
    )
    assert format_search_notes(ANSWER) == [
        "web 10 in 12 ms; other failed: down",
        "Warning: Mind the gap.",
        "More: --offset 12",
    ]
    assert format_results({"results": []}, 0) == "Nothing was found."


@pytest.fixture
def commands(tmp_path: Path, site: Site) -> Commands:
    return Commands(tmp_path, site.address, free_port())


async def test_saved_pages_are_found_without_a_server(commands: Commands, site: Site) -> None:
    await commands.run("scrape", site.url("/article"))
    found = await commands.run("search", "ember", "--local", "--json")
    assert found.code == 0, found.err
    answer = json.loads(found.out)
    assert [result["url"] for result in answer["results"]] == [site.url("/article")]
    told = await commands.run("search", "ember")
    assert site.url("/article") in told.out
    assert "search.providers" in told.err


async def test_the_server_that_runs_is_asked(tmp_path: Path, site: Site) -> None:
    port = free_port()
    commands = Commands(tmp_path, site.address, port)
    allow = {"CINDER_EGRESS__ALLOW": site.address}
    async with run_server(tmp_path / "data", port=str(port), **allow) as server:
        async with server.client() as client:
            await client.post("/v1/scrape", json={"url": site.url("/article")})
        found = await commands.run("search", "ember", "--json", "-n", "5")
        assert found.code == 0, found.err
        async with server.client() as client:
            metrics = (await client.get("/metrics")).text
    assert json.loads(found.out)["results"][0]["url"] == site.url("/article")
    assert 'command="search",outcome="ok"' in metrics


async def test_the_index_is_rebuilt(commands: Commands, site: Site) -> None:
    await commands.run("scrape", site.url("/article"))
    rebuilt = await commands.run("search", "--rebuild-index")
    assert (rebuilt.code, rebuilt.out) == (0, "1 page is in the index\n")
    found = await commands.run("search", "ember", "--local")
    assert site.url("/article") in found.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["search"],
        ["search", "coals", "--rebuild-index"],
        ["search", "coals", "--mode", "slow"],
        ["search", "coals", "--local", "--provider", "brave"],
        ["search", "coals", "--num", "0"],
    ],
)
async def test_wrong_input_exits_with_two(commands: Commands, arguments: list[str]) -> None:
    assert (await commands.run(*arguments)).code == 2
