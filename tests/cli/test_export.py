"""`cinder export`."""

import json
import re
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are no dependency

from tests.cli.commands import Commands, free_port
from tests.crawled_site import serve_crawled_site
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
        "a.zip": b"PK",
        "a.md": b"# ",
        "llms-full.txt": b"# ",
    }
    for name, beginning in beginnings.items():
        done = await commands.run("export", crawl_id, "-o", name)
        assert done.code == 0, done.err
        assert (tmp_path / name).read_bytes().startswith(beginning), name


async def test_the_formats_that_a_crawl_is_asked_for_are_in_its_export(
    commands: Commands, site: Site, tmp_path: Path
) -> None:
    formats = ("-f", "html", "-f", "summary", "-f", "linksDetail")
    url = site.url("/shelf?books=1")
    done = await commands.run("crawl", url, "--max-depth", "1", *formats, "-o", "site/")
    assert done.code == 0, done.err
    [page] = (tmp_path / "site").rglob("*.md")
    matter = read_front_matter(page)
    assert "This shelf holds" in str(matter["summary"])
    assert isinstance(matter["linksDetail"], list)
    assert page.with_suffix(".html").read_text().startswith("<")

    # One text has only Markdown, whatever else the pages have.
    done = await commands.run("batch", url, *formats, "-o", "site.md")
    assert done.code == 0, done.err
    assert (tmp_path / "site.md").read_text().startswith("# ")


async def test_a_crawl_fills_the_schema_of_a_file_for_each_page(
    commands: Commands, site: Site, tmp_path: Path
) -> None:
    (tmp_path / "shelf.json").write_text('{"properties": {"title": {"type": "string"}}}')
    options = ("--max-depth", "1", "--extract-schema", "shelf.json", "-o", "site/")
    done = await commands.run("crawl", site.url("/shelf?books=1"), *options)
    assert done.code == 0, done.err
    [page] = (tmp_path / "site").rglob("*.md")
    assert json.loads(str(read_front_matter(page)["extracted"]))["data"] == {"title": "Shelf"}

    (tmp_path / "shelf.json").write_text("{")
    done = await commands.run("batch", site.url("/shelf?books=1"), *options[2:4])
    assert (done.code, "shelf.json is not valid JSON" in done.err) == (2, True)


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


_LINK = re.compile(r"\]\(<?([^)>\s]+)")


def check_links(folder: Path) -> tuple[int, int]:
    """Check that each relative link leads to a file; return the number of links and of pages."""
    pages = {path: path.read_text() for path in folder.rglob("*.md")}
    links = 0
    for page, text in pages.items():
        for target in _LINK.findall(text):
            file, _, fragment = target.partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            links += 1
            found = page if not file else (page.parent / unquote(file)).resolve()
            assert found.is_relative_to(folder.resolve()), (page, target)
            assert found.is_file(), (page, target)
            assert found in pages, (page, target)
            if fragment and (slugs := slugs_of(pages[found])):
                assert fragment in slugs or fragment not in pages[found], (page, target)
    return links, len(pages)


def slugs_of(text: str) -> set[str]:
    """Return the anchors of a page's headings, as Markdown viewers make them."""
    headings = re.findall(r"^#{1,6} (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def read_front_matter(path: Path) -> dict[str, object]:
    opening, matter, _ = path.read_text().split("---\n", 2)
    assert opening == ""
    values: dict[str, object] = yaml.safe_load(matter)
    return values


async def test_a_crawl_is_written_as_files_whose_links_work(tmp_path: Path) -> None:
    with serve_crawled_site() as site:
        commands = Commands(tmp_path, site.address, free_port())
        options = ("--max-pages", "80", "--delay", "1", "--whole-page")
        done = await commands.run("crawl", site.url("/"), *options, "-o", "site/")
        assert done.code == 0, done.err
        crawl_id = done.out.split()[0]
        assert re.search(r"80 pages, [\d,]+ bytes, in site/\n$", done.err)
        again = await commands.run("crawl", site.url("/"), "-o", "site/")
        assert (again.code, "not empty" in again.err) == (1, True)
    folder = (tmp_path / "site").resolve()
    links, count = check_links(folder)
    assert count == 80
    assert links > 50
    exported = await commands.run("export", crawl_id, "-o", "pages.jsonl")
    assert exported.code == 0, exported.err
    lines = (tmp_path / "pages.jsonl").read_text().splitlines()
    known = {page["url"]: page for page in map(json.loads, lines)}
    exported_urls = set(known)
    for path in folder.rglob("*.md"):
        assert not exported_urls & set(_LINK.findall(path.read_text()))
        matter = read_front_matter(path)
        page = known.pop(str(matter["url"]))
        assert (matter["title"], matter["verdict"]) == (page["title"], page["verdict"])
        date = matter["date"]
        assert isinstance(date, datetime)
        assert date.astimezone(UTC) == datetime.fromisoformat(page["fetchedAt"])
    assert known == {}


async def test_a_zip_has_the_files_of_a_folder(
    commands: Commands, site: Site, tmp_path: Path
) -> None:
    crawl_id = (await commands.run("crawl", site.url("/shelf?books=2"))).out.split()[0]
    for output in ("files/", "files.zip"):
        done = await commands.run("export", crawl_id, "-o", output)
        assert done.code == 0, done.err
    default = await commands.run("export", crawl_id, "-f", "files")
    assert default.err.endswith(f"in {crawl_id}/\n"), default.err
    with zipfile.ZipFile(tmp_path / "files.zip") as archive:
        zipped = {name: archive.read(name) for name in archive.namelist()}
    for folder in (tmp_path / "files", tmp_path / crawl_id):
        assert zipped == {
            path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.md")
        }


async def test_images_are_downloaded_beside_the_pages(
    commands: Commands, site: Site, tmp_path: Path
) -> None:
    done = await commands.run("batch", site.url(f"/framed?other={site.url('')}"), "-o", "plain/")
    assert done.code == 0, done.err
    batch_id = done.out.split()[0]
    [page] = (tmp_path / "plain").rglob("*.md")
    assert f"({site.url('/image')})" in page.read_text()
    done = await commands.run("export", batch_id, "-o", "full/", "--images")
    assert done.code == 0, done.err
    [image] = (tmp_path / "full").rglob("*.png")
    [page] = (tmp_path / "full").rglob("*.md")
    assert image.read_bytes().startswith(b"\x89PNG")
    assert f"]({image.name})" in page.read_text()


async def test_an_image_that_cannot_be_had_keeps_its_url_and_is_named(
    commands: Commands, site: Site, tmp_path: Path
) -> None:
    done = await commands.run("batch", site.url("/framed?other=http://127.0.0.1:9"))
    batch_id = done.out.split()[0]
    done = await commands.run("export", batch_id, "-o", "full/", "--images")
    assert done.code == 0, done.err
    [page] = (tmp_path / "full").rglob("*.md")
    warnings = read_front_matter(page)["warnings"]
    assert "could not be downloaded" in str(warnings)


async def test_an_export_that_a_command_cannot_make_is_refused_at_once(
    commands: Commands, site: Site
) -> None:
    url = site.url("/article")
    refused = (
        ("crawl", url, "-o", "a/", "--detach"),
        ("crawl", url, "-o", "-"),
        ("crawl", "--list", "-o", "a/"),
        ("export", "crawl-none", "-o", "a/", "-f", "jsonl"),
        ("export", "crawl-none", "-o", "a.jsonl", "--images"),
    )
    for arguments in refused:
        done = await commands.run(*arguments)
        assert done.code == 2, (arguments, done.err)
    assert site.hits("/article") == 0
