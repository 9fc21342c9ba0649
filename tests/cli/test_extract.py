"""`cinder extract`, on a server and without one."""

import json
from pathlib import Path

import pytest

from cinder.cli.extract import format_extraction_notes
from tests.api.running import run_server
from tests.cli.commands import Commands, free_port
from tests.services.extraction.wares import ALL, SCHEMA, urls_of
from tests.site import Site


@pytest.fixture
def commands(tmp_path: Path, site: Site) -> Commands:
    return Commands(tmp_path, site.address, free_port())


@pytest.fixture
def schema(tmp_path: Path) -> str:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    return str(path)


def test_what_goes_with_the_data_is_told_as_lines() -> None:
    answer = {
        "data": {},
        "proof": [{"grounding": "verified"}, {"grounding": "unverified"}],
        "missing": ["smith"],
        "sources": [{"url": "https://a/", "error": "DNS_ERROR: gone"}, {"url": "https://b/"}],
        "engine": "rules+model",
        "conflicts": [{"path": "price", "kept": 1, "other": 2, "url": "https://b/"}],
        "schemaErrors": ["name: too short"],
        "warnings": ["Mind the gap."],
    }
    assert format_extraction_notes(answer) == [
        "1 verified, 1 unverified; by rules+model",
        "Missing: smith",
        "price: kept 1, but https://b/ says 2",
        "https://a/: DNS_ERROR: gone",
        "Not as the schema wants it: name: too short",
        "Warning: Mind the gap.",
    ]


async def test_data_is_printed_and_the_rest_is_told_beside_it(
    commands: Commands, site: Site, schema: str
) -> None:
    wanted = ("--prompt", "name, price, uses and smith", "--schema", schema)
    done = await commands.run("extract", *urls_of(site, *ALL), *wanted)
    assert done.code == 0, done.err
    assert json.loads(done.out)["uses"] == ["Tea", "Soup", "Light", "Raking"]
    assert "Missing: smith" in done.err
    assert "verified" in done.err


async def test_a_prompt_is_enough_and_json_has_all(commands: Commands, site: Site) -> None:
    done = await commands.run(
        "extract", *urls_of(site, "kettle"), "--prompt", "name and price", "--json"
    )
    answer = json.loads(done.out)
    assert answer["data"] == {"name": "Iron Kettle", "price": 49.5}
    assert len(answer["proof"]) == 2


async def test_a_running_server_does_the_work(tmp_path: Path, site: Site, schema: str) -> None:
    port = free_port()
    commands = Commands(tmp_path, site.address, port)
    allowed = {"CINDER_EGRESS__ALLOW": site.address}
    async with run_server(tmp_path / "data", port=str(port), **allowed) as server:
        done = await commands.run("extract", *urls_of(site, "kettle"), "-s", schema)
        assert json.loads(done.out)["name"] == "Iron Kettle"
        async with server.client() as client:
            metrics = (await client.get("/metrics")).text
    assert 'command="extract",outcome="ok",surface="rest_v1"' in metrics


async def test_what_is_wrong_is_said_before_anything_is_fetched(
    commands: Commands, site: Site, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    done = await commands.run("extract", *urls_of(site, "kettle"), "--schema", str(broken))
    assert (done.code, "not valid JSON" in done.err) == (2, True)
    done = await commands.run("extract", *urls_of(site, "kettle"))
    assert (done.code, "prompt" in done.err) == (2, True)
    assert site.hits("/ware") == 0


async def test_values_of_a_file_are_checked(
    commands: Commands, site: Site, schema: str, tmp_path: Path
) -> None:
    claims = tmp_path / "claims.json"
    claims.write_text(
        json.dumps([{"path": "smith", "value": "Tobias Flint", "quote": "old Tobias Flint"}])
    )
    url = urls_of(site, "kettle")
    done = await commands.run(
        "extract", *url, "-s", schema, "--verify", str(claims), "--strict-grounding"
    )
    assert json.loads(done.out)["smith"] == "Tobias Flint"
