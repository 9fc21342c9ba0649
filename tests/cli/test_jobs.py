"""`cinder crawl` and `cinder batch`, in their own process and on a server."""

import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.running import RunningServer, run_server
from tests.cli.commands import Commands, Finished, finish, free_port
from tests.site import Site

FIGURES = "4 pages fetched, 0 duplicates, 0 traps, 1 disallowed by robots.txt, 1 error"


@pytest.fixture
def commands(tmp_path: Path, site: Site) -> Commands:
    return Commands(tmp_path, site.address, free_port())


@pytest.fixture
async def server(commands: Commands, site: Site) -> AsyncIterator[RunningServer]:
    """A server on the port and the data directory that the commands use."""
    async with run_server(
        commands.folder / "data", port=str(commands.server_port), CINDER_EGRESS__ALLOW=site.address
    ) as running:
        yield running


def events(done: Finished) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.out.splitlines()]


def id_of(done: Finished) -> str:
    assert done.code == 0, done.err
    return done.out.strip()


async def test_without_a_server_the_crawl_is_done_in_this_process(
    commands: Commands, site: Site
) -> None:
    done = await commands.run("crawl", site.url("/shelf?books=3"))
    assert done.code == 0, done.err
    assert done.out.startswith("crawl-")
    assert done.out.endswith(f" completed: {FIGURES}\n")
    assert f"no server runs on 127.0.0.1:{commands.server_port}" in done.err
    assert f"{site.url('/forbidden')}  Robots.txt disallowed\n" in done.err
    assert f"{site.url('/lost')}  404 Not Found\n" in done.err


async def test_the_summary_says_what_ended_the_crawl_and_what_was_left_out(
    commands: Commands, site: Site
) -> None:
    shelf = site.url("/shelf?books=3")
    done = await commands.run("crawl", shelf, "--max-depth", "1")
    assert done.out.endswith("\nEnded by maxDepth. Left out: 5 URLs by maxDepth\n"), done.out
    end = events(await commands.run("crawl", shelf, "--max-depth", "1", "--json"))[-1]
    assert (end["endedBy"], end["leftOut"]) == ("maxDepth", {"maxDepth": 5})


async def test_with_a_server_the_crawl_is_done_there(
    commands: Commands, server: RunningServer, site: Site
) -> None:
    done = await commands.run("crawl", site.url("/shelf?books=3"))
    assert done.code == 0, done.err
    assert done.out.endswith(f" completed: {FIGURES}\n")
    assert "this process" not in done.err
    async with server.client() as client:
        crawls = (await client.get("/v1/crawls")).json()["crawls"]
    assert [crawl["crawlId"] for crawl in crawls] == [done.out.split()[0]]


async def test_a_start_without_a_scheme_says_that_http_is_used(
    commands: Commands, site: Site
) -> None:
    done = await commands.run("crawl", f"{site.address}/article", "--max-depth", "1")
    assert done.code == 0, done.err
    assert "Warning: https://" in done.err


async def test_json_is_one_event_a_line(commands: Commands, site: Site) -> None:
    done = await commands.run("crawl", site.url("/shelf?books=2"), "--json")
    told = events(done)
    assert (told[0]["event"], told[0]["status"]) == ("started", "queued")
    pages = {event["url"] for event in told if event["event"] == "page"}
    assert pages == {site.url(path) for path in ("/shelf?books=2", "/book?n=0", "/book?n=1")}
    errors = {event["url"] for event in told if event["event"] == "error"}
    assert errors == {site.url("/forbidden"), site.url("/lost")}
    end = told[-1]
    assert (end["event"], end["status"], end["fetched"], end["errors"]) == (
        "end",
        "completed",
        3,
        2,
    )
    assert (end["duplicates"], end["traps"]) == (0, 0)


async def test_options_bound_the_crawl(commands: Commands, site: Site) -> None:
    options = ("--max-depth", "2", "--include", "/book", "--exclude", "n=1$", "--sitemap", "skip")
    done = await commands.run("crawl", site.url("/shelf?books=3"), *options, "--json")
    pages = [event["url"] for event in events(done) if event["event"] == "page"]
    assert sorted(pages) == sorted(
        site.url(f"/{x}") for x in ("shelf?books=3", "book?n=0", "book?n=2")
    )
    one = await commands.run("crawl", site.url("/shelf?books=3"), "--max-pages", "1")
    assert " completed: 1 page fetched" in one.out
    assert "Scope: all hosts of the start's domain (--scope domain)" in one.err
    one = await commands.run(
        "crawl", site.url("/shelf?books=3"), "--max-pages", "1", "--scope", "path"
    )
    assert "Scope: the folder of the start and what is below it (--scope path)" in one.err


async def test_ctrl_c_leaves_the_crawl_to_the_server_and_attach_comes_back(
    commands: Commands, server: RunningServer, site: Site
) -> None:
    async with commands.running("crawl", site.url("/silent"), "--max-depth", "1") as process:
        await site.asked("/silent")
        process.send_signal(signal.SIGINT)
        left = await finish(process)
    assert left.code == 0, left.err
    assert "Traceback" not in left.err
    crawl_id = left.err.split("cinder crawl --attach ")[1].split("`")[0]
    site.release()
    back = await commands.run("crawl", "--attach", crawl_id)
    assert back.code == 0
    assert back.out.startswith(f"{crawl_id} completed: 1 page fetched")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_what_stops_in_its_own_process_goes_on_with_attach(
    commands: Commands, site: Site, number: signal.Signals
) -> None:
    async with commands.running("crawl", site.url("/silent"), "--max-depth", "1") as process:
        await site.asked("/silent")
        process.send_signal(number)
        left = await finish(process)
    assert left.code == 130
    assert "Traceback" not in left.err
    crawl_id = left.err.split("cinder crawl --attach ")[1].split("`")[0]
    site.release()
    back = await commands.run("crawl", "--attach", crawl_id, "--json")
    assert back.code == 0
    assert (events(back)[-1]["id"], events(back)[-1]["fetched"]) == (crawl_id, 1)


async def test_a_detached_crawl_is_the_servers(
    commands: Commands, server: RunningServer, site: Site
) -> None:
    crawl_id = id_of(await commands.run("crawl", site.url("/silent"), "--detach"))
    await site.asked("/silent")
    listed = await commands.run("crawl", "--list")
    assert listed.out.startswith(f"{crawl_id}  running ")
    assert listed.out.endswith(f"  {site.url('/silent')}\n")
    assert (await commands.run("crawl", "--cancel", crawl_id)).out == "Crawl cancelled\n"
    site.release()
    over = await commands.run("crawl", "--attach", crawl_id)
    assert over.code == 1
    assert over.out.startswith(f"{crawl_id} cancelled: 0 pages fetched")


async def test_a_detached_crawl_without_a_server_says_that_it_waits(
    commands: Commands, site: Site
) -> None:
    detached = await commands.run("crawl", site.url("/article"), "--detach")
    assert "It waits until a server or a worker runs" in detached.err
    assert site.hits("/article") == 0
    listed = [
        json.loads(line)
        for line in (await commands.run("crawl", "--list", "--json")).out.splitlines()
    ]
    assert [(crawl["crawlId"], crawl["status"]) for crawl in listed] == [
        (id_of(detached), "queued")
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("crawl",),
        ("crawl", "a.example", "--list"),
        ("crawl", "--attach", "crawl-1", "--cancel", "crawl-1"),
        ("crawl", "file:///etc/passwd"),
        ("crawl", "a.example", "--include", "("),
        ("crawl", "a.example", "--scope", "world"),
        ("crawl", "a.example", "--max-depth", "0"),
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


async def test_bad_input_is_told_the_same_by_a_server(
    commands: Commands, server: RunningServer
) -> None:
    done = await commands.run("crawl", "a.example", "--include", "(")
    assert done.code == 2
    assert done.err.startswith("cinder: Invalid arguments: includePatterns[0]: ")


async def test_an_unknown_crawl_is_told_with_its_code(commands: Commands) -> None:
    done = await commands.run("crawl", "--cancel", "crawl-none", "--json")
    assert done.code == 1
    assert json.loads(done.out)["error"]["code"] == "CRAWL_NOT_FOUND"
    assert "CRAWL_NOT_FOUND" in done.err


async def test_a_server_with_another_token_is_not_used(
    commands: Commands, server: RunningServer, site: Site
) -> None:
    own = {"CINDER_SERVER__API_TOKEN": "another"}
    done = await commands.run("crawl", site.url("/article"), "--max-depth", "1", **own)
    assert done.code == 0, done.err
    assert "wants another token" in done.err


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
    assert done.code == 1, done.err  # a part of it failed
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


async def test_a_crawl_takes_the_options_of_a_scrape_for_each_page(
    commands: Commands, site: Site, tmp_path: Path
) -> None:
    options = ("-f", "html", "--exclude-tags", "ul", "-H", "X-Test: yes", "--max-depth", "1")
    done = await commands.run("crawl", site.url("/shelf?books=1"), *options)
    assert done.code == 0, done.err
    target = tmp_path / "pages.jsonl"
    crawl_id = done.out.split()[0]
    exported = await commands.run("export", crawl_id, "-o", str(target), "--include", "html")
    assert exported.code == 0, exported.err
    page = json.loads(target.read_text())
    assert page["html"].startswith("<")
    assert "Book 0" not in page["markdown"]
    assert site.pages.headers["/shelf"]["x-test"] == "yes"
