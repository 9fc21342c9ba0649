import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from typing import IO

import pytest
import pytest_asyncio

from cinder.browser.cdp import ConnectionClosed, PipeConnection
from cinder.browser.engine import BrowserParts
from cinder.browser.tab import (
    DownloadStarted,
    NoPage,
    ScriptFailed,
    Tab,
    error_of_net_code,
    read_result,
)
from cinder.browser.waiting import WaitPolicy, wait_for_load
from cinder.browser.worker import ContextPurpose
from cinder.errors import (
    CinderError,
    ConnectionFailed,
    EgressBlocked,
    ErrorCode,
    ScrapeFailed,
    ScrapeTimeout,
    TlsFailed,
)
from cinder.models.request import Profile
from tests.browser.conftest import Visitor, in_browser
from tests.site import Site


@pytest_asyncio.fixture(loop_scope="module")
async def tab(browsers: BrowserParts) -> AsyncIterator[Tab]:
    async with browsers.pools[Profile.DEFAULT].borrow_tab(ContextPurpose()) as opened:
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
    with pytest.raises(DownloadStarted) as found:
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
    connection = await PipeConnection.open(answers_read, commands_write, max_message_bytes=100_000)
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


URL = "https://site.test/"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("net::ERR_CERT_AUTHORITY_INVALID", ScrapeFailed),
        ("net::ERR_CERT_DATE_INVALID", ScrapeFailed),
        ("net::ERR_SSL_PROTOCOL_ERROR", TlsFailed),
        ("net::ERR_BAD_SSL_CLIENT_AUTH_CERT", TlsFailed),
        ("net::ERR_TOO_MANY_REDIRECTS", ScrapeFailed),
        ("net::ERR_UNSAFE_REDIRECT", EgressBlocked),
        ("net::ERR_UNSAFE_PORT", EgressBlocked),
        ("net::ERR_INVALID_HTTP_RESPONSE", ScrapeFailed),
        ("net::ERR_CONTENT_DECODING_FAILED", ScrapeFailed),
        ("net::ERR_BLOCKED_BY_CLIENT", ScrapeFailed),
        ("net::ERR_TIMED_OUT", ScrapeTimeout),
        ("net::ERR_CONNECTION_TIMED_OUT", ScrapeTimeout),
        ("net::ERR_CONNECTION_RESET", ConnectionFailed),
        ("net::ERR_CONNECTION_REFUSED", ConnectionFailed),
        ("net::ERR_EMPTY_RESPONSE", ConnectionFailed),
        ("net::ERR_INCOMPLETE_CHUNKED_ENCODING", ConnectionFailed),
        ("net::ERR_CONTENT_LENGTH_MISMATCH", ConnectionFailed),
        ("net::ERR_HTTP2_PROTOCOL_ERROR", ConnectionFailed),
        ("net::ERR_NETWORK_CHANGED", ConnectionFailed),
        ("net::ERR_SOCKET_NOT_CONNECTED", ConnectionFailed),
        ("net::ERR_PROXY_CONNECTION_FAILED", ConnectionFailed),
        ("net::ERR_TUNNEL_CONNECTION_FAILED", ConnectionFailed),
        ("net::ERR_NEVER_HEARD_OF", ScrapeFailed),
    ],
)
def test_every_network_error_has_a_kind_and_is_named(error: str, kind: type[CinderError]) -> None:
    failure = error_of_net_code(error, URL)
    assert (type(failure), failure.url) == (kind, URL)
    assert failure.message.endswith(f"({error.removeprefix('net::')})")


@in_browser
async def test_a_redirect_without_end_fails(visitor: Visitor) -> None:
    with pytest.raises(ScrapeFailed) as caught:
        await visitor.visit("/redirect-loop")
    assert caught.value.message == "The page redirects without end (ERR_TOO_MANY_REDIRECTS)"


@in_browser
async def test_a_host_that_nobody_answers_at_is_a_failed_connection(visitor: Visitor) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(ConnectionFailed):
        await visitor.visit(f"http://127.0.0.1:{port}/")


@in_browser
@pytest.mark.parametrize("url", ["http://10.1.2.3/", "https://10.1.2.3/"])
async def test_an_address_that_is_refused_says_so(visitor: Visitor, url: str) -> None:
    with pytest.raises(EgressBlocked):
        await visitor.visit(url)


@in_browser
@pytest.mark.parametrize(
    "location",
    [
        "javascript:alert(1)",
        "view-source:http://127.0.0.1/",
        "file:///etc/passwd",
        "data:text/html,x",
        "mailto:a@b",
        "chrome://crash",
        "about:blank",
    ],
)
async def test_a_redirect_out_of_the_web_is_refused_as_such(
    visitor: Visitor, location: str
) -> None:
    with pytest.raises(EgressBlocked):
        await visitor.visit(f"/redirect?to={location}")


@in_browser
async def test_a_port_that_no_browser_opens_is_refused_as_such(visitor: Visitor) -> None:
    with pytest.raises(EgressBlocked):
        await visitor.visit("http://127.0.0.1:25/")
