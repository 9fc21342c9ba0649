"""Extraction in child processes: limits, replacement, and nothing left behind."""

import asyncio
import gc
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from cinder.documents.page_content import extract_content, inspect_html
from cinder.documents.pdf.pdf_content import extract_pdf
from cinder.documents.stored_texts import prepare_texts
from cinder.errors import ErrorCode, InvalidRequest, Overloaded, ParseLimitExceeded, Unsupported
from cinder.extraction.filling import extract_fields
from cinder.models.document import FetchedPage, FetchSource, Json, StoredForm
from cinder.models.extraction import (
    Evidence,
    FieldValue,
    Grounding,
    Method,
    PassageQuery,
    QuotedText,
)
from cinder.models.recipe import Trial
from cinder.models.request import ContentOptions, ExtractOptions, Format
from cinder.sandbox.extraction_messages import FieldsJob, LearnRecipeJob, TryRecipesJob
from cinder.sandbox.pool import LOW_PRIORITY, ChildOptions, SlowLane
from cinder.sandbox.sandbox import ExtractionSandbox
from tests.site.documents import bomb, encrypted, leaflet

MEBIBYTE = 1024 * 1024
# The parser tries every way to match such a selector on nested elements: minutes, for this page.
NESTED = b"<p>first words" + b"<div>" * 200 + b"<i>last words"
ENDLESS = ExtractOptions(content=ContentOptions(exclude_tags=("b div div div div div i",)))
HUGE = b"<p>x" * 200_000
# Every paragraph takes up all the open fonts anew.
SWELLING = b"<p>word" + b"".join(b"<font a=%d>" % n for n in range(900)) + b"<p>x" * 4_000


def fetched(body: bytes, content_type: str = "text/html") -> FetchedPage:
    return FetchedPage(
        url="https://example.com/asked",
        final_url="https://example.com/d/p",
        status_code=200,
        headers={"content-type": content_type},
        body=body,
        source=FetchSource.NATIVE,
        strategy="static",
    )


def children() -> set[int]:
    """Return the child processes of this one, those included that nobody has waited for."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        # A thread may end while the threads are listed; its children pass to another.
        with suppress(FileNotFoundError, ProcessLookupError):
            found.update(map(int, (task / "children").read_text().split()))
    return found


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
        assert not children() - before
        yield opened


async def test_a_page_gives_the_same_content_as_without_the_sandbox(
    sandbox: ExtractionSandbox,
) -> None:
    body = "<meta charset=utf-8><title>Ž</title><h1>Žluť</h1><p>x <a href=y>y</a>".encode()
    options = ExtractOptions(formats=tuple(Format))
    assert await sandbox.extract(fetched(body), options) == extract_content(
        body, content_type="text/html", url="https://example.com/d/p", options=options
    )


@pytest.mark.parametrize("form", StoredForm)
async def test_a_page_comes_with_its_texts_in_the_form_of_the_store(
    sandbox: ExtractionSandbox, form: StoredForm
) -> None:
    body = "<title>Ž</title><h1>Žluť</h1><p>words".encode()
    found = await sandbox.extract(fetched(body), ExtractOptions(), stored_form=form)
    assert found.stored == prepare_texts(found, form) is not None
    assert (await sandbox.extract(fetched(body), ExtractOptions())).stored is None


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


async def test_no_child_is_replaced_while_jobs_come_and_go(
    sandbox: ExtractionSandbox, before: set[int]
) -> None:
    seen: set[int] = set()

    async def inspect(number: int) -> None:
        # Some come one after the other, when a place has just become free.
        for _ in range(4):
            await sandbox.inspect(f"<h1>{number}</h1>", "")
            seen.update(children() - before)

    await asyncio.gather(*map(inspect, range(24)))
    assert len(seen) == 2


async def test_a_page_that_takes_too_long_gives_its_bare_text_flagged(before: set[int]) -> None:
    async with ExtractionSandbox(1, timeout_seconds=2, memory_bytes=1024 * MEBIBYTE) as sandbox:
        found = await sandbox.extract(fetched(NESTED), ENDLESS)
        assert (found.markdown or "").split() == ["first", "words", "last", "words"]
        assert (found.is_partial, found.is_out_of_time) == (True, True)
        assert "extract-timeout-seconds" in found.warnings[0]
        assert len(children() - before) == 1
        assert (await sandbox.inspect("<h1>next</h1>", "")).title == "next"


async def test_a_page_keeps_its_content_while_the_machine_has_no_time_for_it(
    before: set[int],
) -> None:
    async with ExtractionSandbox(1, timeout_seconds=1, memory_bytes=512 * MEBIBYTE) as sandbox:
        await sandbox.inspect("<p>", "")
        (child,) = children() - before
        os.kill(child, signal.SIGSTOP)
        asyncio.get_running_loop().call_later(2, os.kill, child, signal.SIGCONT)
        found = await sandbox.extract(fetched(b"<p>two <b>words</b>"), ExtractOptions())
        assert (found.markdown, found.is_partial) == ("two **words**", False)


async def test_a_child_that_gets_no_time_at_all_is_given_up(before: set[int]) -> None:
    options = ChildOptions(wall_seconds=3)
    async with ExtractionSandbox(1, 60, 512 * MEBIBYTE, children=options) as sandbox:
        await sandbox.inspect("<p>", "")
        (child,) = children() - before
        os.kill(child, signal.SIGSTOP)
        found = await sandbox.extract(fetched(b"<p>two <b>words</b>"), ExtractOptions())
        assert (found.markdown, found.is_out_of_time) == ("two words", True)
        assert "extract-wall-seconds" in found.warnings[0]


async def test_a_page_that_needs_too_much_memory_gives_its_bare_text_flagged(
    before: set[int],
) -> None:
    async with ExtractionSandbox(1, timeout_seconds=60, memory_bytes=192 * MEBIBYTE) as sandbox:
        found = await sandbox.extract(fetched(HUGE), ExtractOptions())
        assert (found.markdown or "").split() == ["x"] * 200_000
        assert (found.is_partial, found.is_out_of_time) == (True, False)
        assert "extract-memory-bytes" in found.warnings[0]
        assert len(children() - before) == 1
        assert (await sandbox.inspect("<h1>next</h1>", "")).title == "next"


async def test_a_page_whose_tree_swells_gives_its_bare_text_flagged(before: set[int]) -> None:
    async with ExtractionSandbox(1, timeout_seconds=60, memory_bytes=192 * MEBIBYTE) as sandbox:
        found = await sandbox.extract(fetched(SWELLING), ExtractOptions())
        assert (found.markdown or "").split() == ["word"] + ["x"] * 4_000
        assert found.is_partial
        assert (await sandbox.inspect("<h1>next</h1>", "")).title == "next"


async def test_a_page_whose_text_takes_too_long_as_well_is_an_error(before: set[int]) -> None:
    async with ExtractionSandbox(1, timeout_seconds=0.02, memory_bytes=512 * MEBIBYTE) as sandbox:
        with pytest.raises(ParseLimitExceeded) as caught:
            await sandbox.extract(fetched(b"lorem ipsum " * 800_000), ExtractOptions())
        assert caught.value.code is ErrorCode.PARSE_LIMIT
        assert caught.value.url == "https://example.com/asked"
        assert "extract-timeout-seconds" in str(caught.value)
        assert not children() - before


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
    async with ExtractionSandbox(
        1,
        60,
        memory_bytes,
        # On a busy machine it would count as slow, and another child would take its place.
        slow=SlowLane(workers=0),
        children=ChildOptions(settings="scrape.pdf"),
    ) as sandbox:
        with pytest.raises(ParseLimitExceeded) as caught:
            await sandbox.extract_pdf(fetched(bomb()), ExtractOptions(), 9)
        assert "scrape.pdf-memory-bytes" in str(caught.value)
        assert not children() - before
        found = await sandbox.extract_pdf(fetched(leaflet()), ExtractOptions(), 9)
        assert found.metadata.page_count == 2


async def test_a_child_that_dies_at_its_job_costs_the_next_one_nothing(
    sandbox: ExtractionSandbox, before: set[int]
) -> None:
    await sandbox.inspect("<p>", "")
    (child,) = children() - before
    async with asyncio.TaskGroup() as group:
        job = group.create_task(sandbox.extract(fetched(NESTED), ENDLESS))
        await asyncio.sleep(0)
        os.kill(child, signal.SIGSEGV)
    assert job.result().is_partial
    assert (await sandbox.inspect("<h1>next</h1>", "")).title == "next"


def slow_page(site: str) -> FetchedPage:
    return replace(fetched(NESTED), url=f"https://{site}.example/")


async def test_ordinary_pages_are_answered_while_slow_ones_run() -> None:
    slow = SlowLane(after_seconds=0.02, workers=2)
    events: list[str] = []
    async with (
        ExtractionSandbox(2, 60, 512 * MEBIBYTE, slow=slow, count=events.append) as sandbox,
        asyncio.TaskGroup() as group,
    ):
        sites = ("one", "two", "three", "three")
        jobs = [group.create_task(sandbox.extract(slow_page(site), ENDLESS)) for site in sites]
        for number in range(20):
            found = await sandbox.extract(fetched(b"<p>%d" % number), ExtractOptions())
            assert found.markdown == str(number)
        while len(events) < len(jobs):
            await sandbox.inspect("<p>", "")
        assert sorted(events) == ["moved", "moved", "put_off", "put_off"]
        assert not any(job.done() for job in jobs)
        assert sandbox.count_jobs("slow", "running") == 2
        assert sandbox.count_jobs("slow", "waiting") == 2
        for job in jobs:
            job.cancel()


async def test_a_slow_page_runs_at_a_low_priority_and_its_child_ends_with_it(
    sandbox: ExtractionSandbox, before: set[int]
) -> None:
    large = b"<p>x" * 250_000 + b"<p>end"
    async with asyncio.TaskGroup() as group:
        job = group.create_task(sandbox.extract(fetched(large), ExtractOptions()))
        while not any(
            os.getpriority(os.PRIO_PROCESS, pid) == LOW_PRIORITY for pid in children() - before
        ):
            await sandbox.inspect("<p>", "")
    assert (job.result().markdown or "").endswith("end")
    priorities = {os.getpriority(os.PRIO_PROCESS, pid) for pid in children() - before}
    assert priorities == {os.getpriority(os.PRIO_PROCESS, 0)}


async def test_beyond_those_that_may_wait_slow_pages_are_refused() -> None:
    slow = SlowLane(after_seconds=0.02, workers=1, waiting=1)
    async with (
        ExtractionSandbox(2, 60, 512 * MEBIBYTE, slow=slow) as sandbox,
        asyncio.TaskGroup() as group,
    ):
        jobs = [
            group.create_task(sandbox.extract(slow_page(site), ENDLESS)) for site in ("one", "two")
        ]
        while not sandbox.count_jobs("slow", "waiting"):
            await sandbox.inspect("<p>", "")
        with pytest.raises(Overloaded):
            await sandbox.extract(slow_page("three"), ENDLESS)
        for job in jobs:
            job.cancel()


async def test_a_child_is_replaced_after_its_share_of_jobs(before: set[int]) -> None:
    memory_bytes = 512 * MEBIBYTE
    async with ExtractionSandbox(
        1, 30, memory_bytes, children=ChildOptions(jobs_per_worker=2)
    ) as sandbox:
        await sandbox.inspect("<p>", "")
        assert len(children() - before) == 1
        await sandbox.inspect("<p>", "")
        assert not children() - before
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
    async with asyncio.timeout(60):
        await ended.wait()
    asyncio.get_running_loop().remove_reader(watch)
    os.close(watch)
    assert (await sandbox.inspect("<h1>next</h1>", "")).title == "next"


async def test_when_the_caller_goes_away_its_child_ends(
    sandbox: ExtractionSandbox, before: set[int]
) -> None:
    await sandbox.inspect("<p>", "")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await sandbox.extract(fetched(NESTED), ENDLESS)
    assert not children() - before
    assert (await sandbox.inspect("<h1>next</h1>", "")).title == "next"


async def test_a_caller_that_goes_away_before_its_child_is_ready_leaves_nothing(
    sandbox: ExtractionSandbox, before: set[int]
) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await sandbox.inspect("<p>", "")
    assert not children() - before


async def test_closing_ends_jobs_that_run_and_refuses_those_that_wait(before: set[int]) -> None:
    sandbox = ExtractionSandbox(1, timeout_seconds=60, memory_bytes=1024 * MEBIBYTE)
    async with asyncio.TaskGroup() as group:
        async with sandbox:
            await sandbox.inspect("<p>", "")
            jobs = [group.create_task(_refused(sandbox)) for _ in range(3)]
            await asyncio.sleep(0)
        await asyncio.gather(*jobs)
    assert not children() - before


async def _refused(sandbox: ExtractionSandbox) -> None:
    with pytest.raises(ParseLimitExceeded):
        await sandbox.extract(fetched(NESTED), ENDLESS)


async def test_a_memory_limit_too_low_to_start_is_said(before: set[int]) -> None:
    async with ExtractionSandbox(1, timeout_seconds=5, memory_bytes=20 * MEBIBYTE) as sandbox:
        with pytest.raises(ParseLimitExceeded) as caught:
            await sandbox.inspect("<p>", "")
        assert "extract-memory-bytes" in str(caught.value)
        assert not children() - before


async def test_no_open_files_are_left_behind() -> None:
    files = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counts, needs no paths
    for _ in range(3):
        async with ExtractionSandbox(2, timeout_seconds=0.2, memory_bytes=512 * MEBIBYTE) as opened:
            await asyncio.gather(
                opened.inspect("<p>", ""),
                opened.extract(fetched(NESTED), ENDLESS),
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


async def test_fields_are_filled_from_a_page(sandbox: ExtractionSandbox) -> None:
    html, url = "<h1>Lamp</h1><p>Price: $12</p>", "https://example.com/"
    schema: dict[str, Json] = {"properties": {"price": {"type": "number"}}}
    job = FieldsJob(html, "# Lamp", "text/html", url, schema)
    found = await sandbox.extract_fields(job)
    assert found == extract_fields(html, "# Lamp", url=url, schema=schema)
    assert found.data == {"price": 12}


async def test_passages_are_ranked(sandbox: ExtractionSandbox) -> None:
    query = PassageQuery(prompt="What does the lamp cost?")
    found = await sandbox.rank_passages("# Lamp\n\nIts cost: $12", query, limit=3)
    assert [(each.heading, each.text) for each in found] == [("Lamp", "# Lamp\n\nIts cost: $12")]


async def test_a_recipe_is_learned_and_tried(sandbox: ExtractionSandbox) -> None:
    url, page = "https://example.com/", "<h1>{}</h1><p class='depot'>{}</p>"
    schema: dict[str, Json] = {"properties": {"name": {"type": "string"}, "zq": {"type": "string"}}}
    evidence = Evidence(
        method=Method.MODEL, quote="North", grounding=Grounding.VERIFIED, text=QuotedText.MARKDOWN
    )
    values = (FieldValue(path=("zq",), value="North", evidence=(evidence,)),)
    lamp, desk = page.format("Lamp", "North"), page.format("Desk", "South")
    recipe = await sandbox.learn_recipe(
        LearnRecipeJob(lamp, "# Lamp\n\nNorth", "text/html", url, schema, values)
    )
    tried = await sandbox.try_recipes(
        TryRecipesJob(desk, "# Desk\n\nSouth", "text/html", url, schema, (recipe,))
    )
    assert (tried.trials, tried.extracted.data) == (
        (Trial.HELD,),
        {"name": "Desk", "zq": "South"},
    )


async def test_two_texts_are_compared(sandbox: ExtractionSandbox) -> None:
    shown = await sandbox.compare("a\n\nb", "a\n\nc", "https://example.com/")
    assert shown.diff is not None
    assert (shown.is_same, shown.diff.unified.splitlines()[-2:]) == (False, ["-b", "+c"])


async def test_the_look_of_a_page_is_read(sandbox: ExtractionSandbox) -> None:
    page = fetched(b"<link rel=stylesheet href=a.css><p>x</p>")
    assert await sandbox.find_stylesheets(page) == ["https://example.com/d/a.css"]
    branding = await sandbox.read_branding(page, ["p { color: #123456 }"])
    assert branding["colors"] == {"textPrimary": "#123456", "primary": "#123456"}


async def test_without_a_slow_lane_no_more_than_the_workers_ever_run(before: set[int]) -> None:
    slow, events, counts = SlowLane(after_seconds=0.02, workers=0), list[str](), list[int]()

    def count(event: str) -> None:
        events.append(event)
        counts.append(len(children() - before))

    async with (
        ExtractionSandbox(1, 1, 512 * MEBIBYTE, slow=slow, count=count) as sandbox,
        asyncio.TaskGroup() as group,
    ):
        for site in ("one", "two"):
            group.create_task(sandbox.extract(slow_page(site), ENDLESS))
    assert set(events) == {"timed_out"}
    assert max(counts) <= 1


async def test_children_can_be_started_before_the_first_page(
    sandbox: ExtractionSandbox, before: set[int]
) -> None:
    await sandbox.start_all()
    started = children() - before
    await sandbox.start_all()
    assert len(started) == 2
    assert children() - before == started
