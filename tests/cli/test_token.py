"""`cinder token`, as a person runs it, and the server that the tokens are for."""

import json
from pathlib import Path

import httpx2
import pytest

from tests.api.running import run_server
from tests.cli.commands import Commands
from tests.site import Site


@pytest.fixture
def commands(tmp_path: Path, site: Site) -> Commands:
    return Commands(tmp_path, site.address, 1)


async def test_a_token_made_beside_a_running_server_opens_it_until_it_is_revoked(
    commands: Commands, tmp_path: Path
) -> None:
    async with run_server(tmp_path / "data") as server:
        made = await commands.run("token", "create", "ci")
        headers = {"Authorization": f"Bearer {made.out.strip()}"}
        async with httpx2.AsyncClient(base_url=server.url, headers=headers) as client:
            before = await client.get("/v1/crawls")
        revoked = await commands.run("token", "revoke", "ci")
    assert made.code == 0
    assert before.status_code == 200
    assert revoked.out == "Revoked ci\n"


async def test_tokens_are_listed_without_their_secrets(commands: Commands) -> None:
    limits = ("--scope", "read", "--domain", "*.Example.com", "--pages-per-day", "5")
    made = await commands.run("token", "create", "ci", *limits, "--json")
    listed = await commands.run("token", "list", "--json")
    told = await commands.run("token", "list")

    (token,) = json.loads(listed.out)
    secret = json.loads(made.out)["secret"]
    assert token["scopes"] == ["read"]
    assert token["domains"] == ["example.com"]
    assert token["pagesPerDay"] == 5
    assert told.out == "ci  read  last used never  only example.com  5 pages a day\n"
    assert secret.startswith("cinder_")
    assert secret not in listed.out + told.out


async def test_what_is_wrong_with_a_token_is_said(commands: Commands) -> None:
    assert "no tokens but the owner's" in (await commands.run("token", "list")).out
    for arguments, said in (
        (("create", "a b"), "64 letters"),
        (("create", "ci", "--domain", "::"), "Not a domain"),
        (("revoke", "ci"), "There is no token 'ci'"),
    ):
        done = await commands.run("token", *arguments)
        assert done.code == 2, arguments
        assert said in done.err
