"""Extraction in child processes: limits, replacement, and nothing left behind."""

import asyncio
import gc
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from cinder.errors import ErrorCode, InvalidRequest, ParseLimitExceeded, Unsupported
from cinder.extract.content import extract_content
from cinder.extract.inspection import inspect_html
from cinder.extract.options import ExtractOptions
from cinder.extract.pdf.document import extract_pdf
from cinder.model.document import FetchedPage, Source
from cinder.model.request import ContentOptions, Format
from cinder.services.sandbox import ExtractionSandbox
from tests.site.documents import bomb, encrypted, leaflet

MEBIBYTE = 1024 * 1024
# The parser's time grows with the square of the depth: many seconds for this, though no single
# stretch of it is deep enough to be refused at a look.
ENDLESS = (b"<div>" * 4_900 + b"</div>" * 4_900) * 400
# The converter's output grows with the square of the depth, and its memory faster.
HUGE = b"<blockquote>t" * 1_000


def fetched(body: bytes, content_type: str = "text/html") -> FetchedPage:
    return FetchedPage(
        url="https://example.com/asked",
        final_url="https://example.com/d/p",
        status_code=200,
        headers={"content-type": content_type},
        body=body,
        source=Source.NATIVE,
        strategy="static",
    )


def children() -> set[int]:
    """Return the child processes of this one, those included that nobody has waited for."""
    tasks = Path("/proc/self/task").iterdir()
    return {int(pid) for task in tasks for pid in (task / "children").read_text().split()}


@pytest.fixture
def before() -> Iterator[set[int]]:
    """What children there were; afterwards there must be the same."""
    processes = children()
    yield processes
    gc.collect()
    assert children() == processes


@pytest.fixture
async def sandbox(before: set[int]) -> AsyncIterator[ExtractionSandbox]:
    async with ExtractionSandbox(2, timeout_seconds=30, memory_bytes=512 * MEBIBYTE) as opened:
        assert children() == before
        yield opened


async def test_a_page_gives_the_same_content_as_without_the_sandbox(
    sandbox: ExtractionSandbox,
) -> None:
    body = "<meta charset=utf-8><title>Ž</title><h1>Žluť</h1><p>x <a href=y>y</a>".encode()
    options = ExtractOptions(formats=tuple(Format))
    assert await sandbox.extract(fetched(body), options) == extract_content(
        body, content_type="text/html", url="https://example.com/d/p", options=options
    )


async def test_html_gives_the_same_facts_as_without_the_sandbox(sandbox: ExtractionSandbox) -> None:
    html = "<title>T</title><meta name=a content=b><h1>H</h1><a href=/x>x</a>\ud800"
    facts = await sandbox.inspect(html, "https://example.com")
    assert facts == inspect_html(html, "https://example.com")


async def test_a_large_page_passes_both_ways(sandbox: ExtractionSandbox) -> None:
    body = b"lorem ipsum " * 800_000
    found = await sandbox.extract(fetched(body, "text/plain"), ExtractOptions())
    assert found.markdown == body.decode().strip()


async def test_an_invalid_selector_is_the_callers_error_and_spares_the_child(
    sandbox: ExtractionSandbox, before: set[int]
) -> None:
    await sandbox.inspect("<p>", "")
    first = children() - before
    options = ExtractOptions(content=ContentOptions(include_tags=("p:",)))
    with pytest.raises(InvalidRequest) as caught:
        await sandbox.extract(fetched(b"<p>x"), options)
    assert caught.value.problems[0].field == "includeTags"
    assert children() - before == first


async def test_a_child_does_many_jobs_and_there_are_only_so_many_children(
    sandbox: ExtractionSandbox, before: set[int]
) -> None:
    await sandbox.inspect("<p>1", "")
    await sandbox.inspect("<p>2", "")
    assert len(children() - before) == 1
    pages = [sandbox.inspect(f"<h1>{n}</h1>", "") for n in range(12)]
    assert [facts.title for facts in await asyncio.gather(*pages)] == [str(n) for n in range(12)]
    assert len(children() - before) == 2


async def test_a_page_that_takes_too_long_is_given_up_alone(before: set[int]) -> None:
    async with ExtractionSandbox(1, timeout_seconds=0.3, memory_bytes=1024 * MEBIBYTE) as sandbox:
        with pytest.raises(ParseLimitExceeded) as caught:
            await sandbox.extract(fetched(ENDLESS), ExtractOptions())
        assert caught.value.code is ErrorCode.PARSE_LIMIT
        assert caught.value.url == "https://example.com/asked"
        assert "extract-timeout-seconds" in str(caught.value)
        assert children() == before
        assert (await sandbox.inspect("<h1>next</h1>", "")).title == "next"


async def test_a_pdf_gives_the_same_content_as_without_the_sandbox(
    sandbox: ExtractionSandbox,
) -> None:
    options = ExtractOptions(formats=(Format.MARKDOWN, Format.HTML, Format.LINKS))
    found = await sandbox.extract_pdf(fetched(leaflet(), "application/pdf"), options, 9)
    url = "https://example.com/d/p"
    assert found == extract_pdf(leaflet(), url=url, options=options, max_pages=9)


async def test_an_encrypted_pdf_is_told_and_its_process_goes_on(
    sandbox: ExtractionSandbox, before: set[int]
) -> None:
    with pytest.raises(Unsupported, match="password"):
        await sandbox.extract_pdf(fetched(encrypted()), ExtractOptions(), 9)
    found = await sandbox.extract_pdf(fetched(leaflet()), ExtractOptions(), 9)
    assert found.metadata.page_count == 2
    assert len(children() - before) == 1


async def test_a_pdf_that_needs_too_much_memory_is_given_up_alone(before: set[int]) -> None:
    memory_bytes = 512 * MEBIBYTE
    async with ExtractionSandbox(1, 60, memory_bytes, settings="scrape.pdf") as sandbox:
        with pytest.raises(ParseLimitExceeded) as caught:
            await sandbox.extract_pdf(fetched(bomb()), ExtractOptions(), 9)
        assert "scrape.pdf-memory-bytes" in str(caught.value)
        assert children() == before
        found = await sandbox.extract_pdf(fetched(leaflet()), ExtractOptions(), 9)
        assert found.metadata.page_count == 2


async def test_a_page_that_needs_too_much_memory_is_given_up_alone(before: set[int]) -> None:
    async with ExtractionSandbox(1, timeout_seconds=60, memory_bytes=192 * MEBIBYTE) as sandbox:
        with pytest.raises(ParseLimitExceeded) as caught:
            await sandbox.extract(fetched(HUGE), ExtractOptions())
        assert "extract-memory-bytes" in str(caught.value)
        assert children() == before
        assert (await sandbox.inspect("<h1>next</h1>", "")).title == "next"


async def test_a_child_is_replaced_after_its_share_of_jobs(before: set[int]) -> None:
    memory_bytes = 512 * MEBIBYTE
    async with ExtractionSandbox(1, 30, memory_bytes, jobs_per_worker=2) as sandbox:
        await sandbox.inspect("<p>", "")
        assert len(children() - before) == 1
        await sandbox.inspect("<p>", "")
        assert children() == before
        assert (await sandbox.inspect("<h1>next</h1>", "")).title == "next"


async def test_a_child_that_died_while_idle_is_replaced(
    sandbox: ExtractionSandbox, before: set[int]
) -> None:
    await sandbox.inspect("<p>", "")
    (child,) = children() - before
    watch = os.pidfd_open(child)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(watch, ended.set)
    os.kill(child, signal.SIGKILL)
    async with asyncio.timeout(10):
        await ended.wait()
    asyncio.get_running_loop().remove_reader(watch)
    os.close(watch)
    assert (await sandbox.inspect("<h1>next</h1>", "")).title == "next"


async def test_when_the_caller_goes_away_its_child_ends(
    sandbox: ExtractionSandbox, before: set[int]
) -> None:
    await sandbox.inspect("<p>", "")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await sandbox.extract(fetched(ENDLESS), ExtractOptions())
    assert children() == before
    assert (await sandbox.inspect("<h1>next</h1>", "")).title == "next"


async def test_a_caller_that_goes_away_before_its_child_is_ready_leaves_nothing(
    sandbox: ExtractionSandbox, before: set[int]
) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await sandbox.inspect("<p>", "")
    assert children() == before


async def test_closing_ends_jobs_that_run_and_refuses_those_that_wait(before: set[int]) -> None:
    sandbox = ExtractionSandbox(1, timeout_seconds=60, memory_bytes=1024 * MEBIBYTE)
    async with asyncio.TaskGroup() as group:
        async with sandbox:
            await sandbox.inspect("<p>", "")
            jobs = [group.create_task(_refused(sandbox)) for _ in range(3)]
            await asyncio.sleep(0)
        await asyncio.gather(*jobs)
    assert children() == before


async def _refused(sandbox: ExtractionSandbox) -> None:
    with pytest.raises(ParseLimitExceeded):
        await sandbox.extract(fetched(ENDLESS), ExtractOptions())


async def test_a_memory_limit_too_low_to_start_is_said(before: set[int]) -> None:
    async with ExtractionSandbox(1, timeout_seconds=5, memory_bytes=20 * MEBIBYTE) as sandbox:
        with pytest.raises(ParseLimitExceeded) as caught:
            await sandbox.inspect("<p>", "")
        assert "extract-memory-bytes" in str(caught.value)
        assert children() == before


async def test_no_open_files_are_left_behind() -> None:
    files = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counts, needs no paths
    for _ in range(3):
        async with ExtractionSandbox(2, timeout_seconds=0.2, memory_bytes=512 * MEBIBYTE) as opened:
            await asyncio.gather(
                opened.inspect("<p>", ""),
                opened.extract(fetched(ENDLESS), ExtractOptions()),
                return_exceptions=True,
            )
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == files  # noqa: PTH208 - the same


async def test_what_extraction_did_not_foresee_leaves_the_page_as_it_came(
    sandbox: ExtractionSandbox,
) -> None:
    # A format that no child knows stands for any mistake of ours.
    broken = ExtractOptions(formats=("unheard-of",), content=ContentOptions())  # type: ignore[arg-type]
    found = await sandbox.extract(fetched(b"<p>two words"), broken)
    assert found.text == "<p>two words"
    assert found.word_count == 2
    assert "could not be cleaned" in found.warnings[0]
    again = await sandbox.extract(fetched(b"<p>hello"), ExtractOptions())
    assert again.markdown == "hello"


async def test_two_texts_are_compared(sandbox: ExtractionSandbox) -> None:
    shown = await sandbox.compare("a\n\nb", "a\n\nc", "https://example.com/")
    assert shown.diff is not None
    assert (shown.is_same, shown.diff.unified.splitlines()[-2:]) == (False, ["-b", "+c"])


async def test_the_look_of_a_page_is_read(sandbox: ExtractionSandbox) -> None:
    page = fetched(b"<link rel=stylesheet href=a.css><p>x</p>")
    assert await sandbox.find_stylesheets(page) == ["https://example.com/d/a.css"]
    branding = await sandbox.read_branding(page, ["p { color: #123456 }"])
    assert branding["colors"] == {"textPrimary": "#123456", "primary": "#123456"}
