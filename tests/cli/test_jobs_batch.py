"""`cinder batch`, in its own process and on a server."""

import json
from pathlib import Path

import pytest

from tests.api.running import run_server
from tests.cli.commands import Commands, free_port
from tests.site import Site


@pytest.fixture
def commands(tmp_path: Path, site: Site) -> Commands:
    return Commands(tmp_path, site.address, free_port())


async def test_urls_come_from_arguments_files_and_standard_input(
    commands: Commands, site: Site
) -> None:
    (commands.folder / "list.txt").write_text(f"# books\n{site.url('/book?n=1')}\n\n")
    done = await commands.run(
        "batch", site.url("/article"), "list.txt", "-", "--json", stdin=site.url("/book?n=2")
    )
    assert done.code == 0, done.err
    told = [json.loads(line) for line in done.out.splitlines()]
    assert told[0]["urls"] == 3
    pages = {event["url"] for event in told if event["event"] == "page"}
    assert pages == {site.url(path) for path in ("/article", "/book?n=1", "/book?n=2")}
    assert (told[-1]["event"], told[-1]["fetched"]) == ("end", 3)


async def test_what_is_wrong_with_the_list_is_told_and_not_fatal(
    commands: Commands, site: Site
) -> None:
    urls = [site.url("/article"), site.url("/article"), "http://", site.url("/lost")]
    done = await commands.run("batch", *urls)
    assert done.code == 0, done.err
    assert done.out.endswith(" completed: 1 page fetched, 2 errors\n")
    assert "URLs that are given more than once: 1\n" in done.err
    assert "URLs that are not valid: 1\n" in done.err
    assert f"{site.url('/lost')}  404 Not Found\n" in done.err


async def test_what_robots_txt_disallows_is_told_apart_from_errors(
    commands: Commands, site: Site
) -> None:
    done = await commands.run("batch", site.url("/article"), site.url("/forbidden"))
    assert done.out.endswith(
        " completed: 1 page fetched, 1 disallowed by robots.txt, 0 errors\n"
    ), done.err
    assert f"{site.url('/forbidden')}  Robots.txt disallowed\n" in done.err


@pytest.mark.parametrize("name", ["nofile.txt", "lists/shops.CSV", "my.list", "all.urls"])
async def test_a_list_that_is_not_there_is_not_taken_for_a_website(
    commands: Commands, name: str
) -> None:
    done = await commands.run("batch", name)
    assert (done.code, done.out) == (2, "")
    told = f"There is no file {name}; write https://{name} if you mean a website\n"
    assert done.err == f"cinder: Invalid arguments: FILE: {told}"


async def test_an_address_that_ends_like_a_list_is_a_page(commands: Commands, site: Site) -> None:
    done = await commands.run("batch", site.url("/robots.txt"), "--json")
    started = json.loads(done.out.splitlines()[0])
    assert (started["event"], started["urls"]) == ("started", 1), done.err


async def test_a_batch_is_done_on_the_server_that_runs(commands: Commands, site: Site) -> None:
    data, port = commands.folder / "data", str(commands.server_port)
    async with run_server(data, port=port, CINDER_EGRESS__ALLOW=site.address) as server:
        detached = await commands.run("batch", site.url("/article"), "-f", "links", "--detach")
        batch_id = detached.out.strip()
        watched = await commands.run("batch", "--attach", batch_id)
        listed = await commands.run("batch", "--list")
        cancelled = await commands.run("batch", "--cancel", batch_id)
        async with server.client() as client:
            batches = (await client.get("/v1/batches")).json()["batches"]
    assert watched.out == f"{batch_id} completed: 1 page fetched, 0 errors\n"
    assert listed.out.startswith(f"{batch_id}  completed ")
    assert cancelled.out == "Batch scrape was over before: completed\n"
    assert [batch["jobId"] for batch in batches] == [batch_id]


@pytest.mark.parametrize(
    "arguments",
    [
        ("batch",),
        ("batch", "a.example", "--list"),
        ("batch", "http://"),
        ("batch", "a.example", "-f", "pdf"),
        ("batch", "a.example", "-H", "no colon"),
        ("batch", "a.example", "--action", "click"),
    ],
)
async def test_bad_input_is_one_clear_line_and_exit_code_two(
    commands: Commands, arguments: tuple[str, ...]
) -> None:
    done = await commands.run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("cinder: Invalid arguments: ")
    assert done.err.count("\n") == 1
