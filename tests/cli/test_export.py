"""`cinder export`."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import Commands, free_port
from tests.site import Site


@pytest.fixture
def commands(tmp_path: Path, site: Site) -> Commands:
    return Commands(tmp_path, site.address, free_port())


async def test_a_crawl_is_written_to_a_file(commands: Commands, site: Site, tmp_path: Path) -> None:
    crawled = await commands.run("crawl", site.url("/shelf?books=2"))
    crawl_id = crawled.out.split()[0]
    target = tmp_path / "pages.jsonl"

    done = await commands.run("export", crawl_id, "-o", str(target))
    assert done.code == 0, done.err
    assert done.err.endswith(f"3 pages, {target.stat().st_size:,} bytes, in {target}\n")
    pages = [json.loads(line) for line in target.read_text().splitlines()]
    assert {page["url"] for page in pages} == {
        site.url(path) for path in ("/shelf?books=2", "/book?n=0", "/book?n=1")
    }

    done = await commands.run(
        "export", crawl_id, "--format", "jsonl", "--errors", "-o", str(target)
    )
    assert done.code == 0, done.err
    fates = {json.loads(line)["fate"] for line in target.read_text().splitlines()}
    assert fates == {"fetched", "failed", "disallowed by robots"}


async def test_the_name_of_the_file_tells_the_format(
    commands: Commands, site: Site, tmp_path: Path
) -> None:
    crawl_id = (await commands.run("crawl", site.url("/shelf?books=1"))).out.split()[0]
    beginnings = {
        "a.parquet": b"PAR1",
        "a.warc.gz": b"\x1f\x8b",
        "a.WARC": b"\x1f\x8b",
        "a.x": b"{",
    }
    for name, beginning in beginnings.items():
        done = await commands.run("export", crawl_id, "-o", name)
        assert done.code == 0, done.err
        assert (tmp_path / name).read_bytes().startswith(beginning), name


async def test_a_format_that_contradicts_the_name_is_refused(
    commands: Commands, tmp_path: Path
) -> None:
    done = await commands.run("export", "crawl-none", "-f", "jsonl", "-o", "site.parquet")
    assert done.code == 2
    assert "site.parquet is a name for parquet, not jsonl" in done.err
    assert not (tmp_path / "site.parquet").exists()


async def test_a_dash_is_standard_output(commands: Commands, site: Site, tmp_path: Path) -> None:
    crawl_id = (await commands.run("crawl", site.url("/shelf?books=2"))).out.split()[0]
    done = await commands.run("export", crawl_id, "-o", "-")
    assert done.code == 0, done.err
    assert len([json.loads(line) for line in done.out.splitlines()]) == 3
    size = len(done.out.encode())
    assert done.err.endswith(f"3 pages, {size:,} bytes, on standard output\n")
    assert not (tmp_path / "-").exists()


async def test_an_export_of_no_job_or_format_says_so(commands: Commands) -> None:
    unknown = await commands.run("export", "crawl-none")
    assert (unknown.code, "CRAWL_NOT_FOUND" in unknown.err) == (1, True)
    odd = await commands.run("export", "crawl-none", "--format", "csv")
    assert (odd.code, "jsonl" in odd.err) == (2, True)
