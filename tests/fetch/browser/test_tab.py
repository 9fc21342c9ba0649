import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import IO

import pytest
import pytest_asyncio

from cinder.errors import ErrorCode, ScrapeFailed
from cinder.fetch.browser.connection import Connection, ConnectionClosed
from cinder.fetch.browser.context import Purpose
from cinder.fetch.browser.engine import BrowserParts
from cinder.fetch.browser.tab import FileInstead, NoPage, ScriptFailed, Tab, read_result
from cinder.fetch.browser.waiting import WaitPolicy, wait_for_load
from cinder.model.request import Profile
from tests.fetch.browser.conftest import in_browser
from tests.site import Site


@pytest_asyncio.fixture(loop_scope="module")
async def tab(browsers: BrowserParts) -> AsyncIterator[Tab]:
    async with browsers.pools[Profile.DEFAULT].borrow_tab(Purpose()) as opened:
        session = opened.tab.session
        for command in ("Page.enable", "Network.enable"):
            await session.send(command)
        await session.send("Page.setLifecycleEventsEnabled", enabled=True)
        yield opened.tab


async def go(tab: Tab, url: str) -> None:
    await tab.navigate(url)
    assert await wait_for_load(tab, WaitPolicy(navigate_timeout_seconds=60))


@in_browser
async def test_a_tab_knows_what_the_server_answered(tab: Tab, website: Site) -> None:
    await go(tab, website.url("/redirect?to=/status%3Fcode=404"))
    assert tab.answer is not None
    assert (tab.answer.url, tab.answer.status_code, tab.answer.mime) == (
        website.url("/status?code=404"),
        404,
        "text/html",
    )
    assert tab.asked_url == website.url("/status?code=404")


@in_browser
async def test_a_page_that_moves_on_at_once_is_not_waited_for(tab: Tab, website: Site) -> None:
    await go(tab, website.url("/moves-on"))
    assert await tab.evaluate("location.pathname") == "/article"
    assert tab.answer is not None
    assert tab.answer.url == website.url("/article")


@in_browser
@pytest.mark.parametrize(
    "script",
    [
        "location.hash = 'x'",
        "history.pushState({}, '', '/pushed')",
        "location.hash = 'x'; history.back()",
        "document.querySelector('iframe').src = '/article'",
        "location = 'mailto:ada@site.test'",
    ],
)
async def test_what_loads_no_page_leaves_the_tab_where_it_is(
    tab: Tab, website: Site, script: str
) -> None:
    await go(tab, website.url("/links"))
    page_id = tab.page_id
    await tab.session.send("Runtime.evaluate", expression=script)
    await tab.evaluate("new Promise(resolve => setTimeout(resolve, 100))")
    assert await wait_for_load(tab, WaitPolicy(navigate_timeout_seconds=30))
    assert (tab.page_id, tab.is_leaving) == (page_id, False)


@in_browser
async def test_a_file_is_no_page(tab: Tab, website: Site) -> None:
    with pytest.raises(FileInstead) as found:
        await tab.navigate(website.url("/attachment"))
    assert found.value.url == website.url("/attachment")


@in_browser
async def test_an_answer_without_a_page_is_told_from_a_failure(tab: Tab, website: Site) -> None:
    with pytest.raises(NoPage) as nothing:
        await tab.navigate(website.url("/bodiless?code=204"))
    assert nothing.value.answer.status_code == 204
    assert nothing.value.code is ErrorCode.SCRAPE_FAILED


@in_browser
@pytest.mark.parametrize("url", ["file:///etc/passwd", "chrome://version", "javascript:void(0)"])
async def test_a_tab_goes_nowhere_but_to_the_web(tab: Tab, url: str) -> None:
    with pytest.raises(ValueError, match="Only http and https"):
        await tab.navigate(url)


@in_browser
async def test_a_script_of_ours_sees_the_page_and_not_its_globals(tab: Tab, website: Site) -> None:
    await go(tab, website.url("/broken-globals"))
    script = "[document.querySelector('p').innerText, JSON.stringify([1]), typeof Promise]"
    assert await tab.evaluate(script) == ["Readable all the same", "[1]", "function"]


@in_browser
async def test_a_script_that_throws_tells_what(tab: Tab, website: Site) -> None:
    await go(tab, website.url("/article"))
    with pytest.raises(ScriptFailed, match=r"^Error: boom$"):
        await tab.evaluate("throw new Error('boom')")


@in_browser
async def test_a_script_whose_page_goes_away_fails(tab: Tab, website: Site) -> None:
    await go(tab, website.url("/article"))
    with pytest.raises(ScriptFailed):
        await tab.evaluate("location = '/form'; new Promise(() => {})")
    assert await wait_for_load(tab, WaitPolicy(navigate_timeout_seconds=60))
    assert await tab.evaluate("document.title") == "Form"


@in_browser
async def test_a_tab_that_failed_says_why_to_all_who_wait(tab: Tab) -> None:
    tab.fail(ScrapeFailed("Enough"))
    tab.fail(ScrapeFailed("Too late"))
    with pytest.raises(ConnectionClosed, match="Enough"):
        await tab.wait_until(lambda: False)
    with pytest.raises(ConnectionClosed, match="Enough"):
        await tab.evaluate("1")


@pytest.fixture
async def spoken() -> AsyncIterator[tuple[Tab, IO[bytes], IO[bytes]]]:
    """A tab whose browser is the test: what it is told, and where it speaks."""
    commands_read, commands_write = os.pipe()
    answers_read, answers_write = os.pipe()
    connection = await Connection.open(answers_read, commands_write, max_message_bytes=100_000)
    with os.fdopen(commands_read, "rb", 0) as told, os.fdopen(answers_write, "wb", 0) as says:
        yield Tab(connection.session("S"), "F"), told, says
        connection.close()


async def test_two_pages_that_begin_at_one_moment_do_not_hide_the_first(
    spoken: tuple[Tab, IO[bytes], IO[bytes]],
) -> None:
    tab, told, says = spoken
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(tab.navigate("http://site.test/"))
        command = json.loads((await asyncio.to_thread(told.read, 10_000)).rstrip(b"\0"))
        answer = {"id": command["id"], "sessionId": "S", "result": {"loaderId": "first"}}
        begins = [
            {
                "sessionId": "S",
                "method": "Page.lifecycleEvent",
                "params": {"frameId": "F", "loaderId": loader, "name": "init"},
            }
            for loader in ("first", "second")
        ]
        says.write(b"".join(json.dumps(said).encode() + b"\0" for said in (answer, *begins)))
    assert tab.page_id == "second"


def test_what_a_script_threw_is_read_in_one_line() -> None:
    with pytest.raises(ScriptFailed, match=r"^Error: boom$"):
        read_result({"exceptionDetails": {"exception": {"description": "Error: boom\n at x"}}})
    with pytest.raises(ScriptFailed, match=r"^7$"):
        read_result({"exceptionDetails": {"text": "Uncaught", "exception": {"value": 7}}})
    with pytest.raises(ScriptFailed, match=r"^Uncaught$"):
        read_result({"exceptionDetails": {"text": "Uncaught"}})
