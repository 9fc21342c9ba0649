"""Login walls: the owner is asked, logs in, and the call goes on; in both eras."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import httpx2
import mcp_types as types
import pytest
from mcp.client import Client, ClientRequestContext
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from cinder.api.requests import set_caller
from cinder.app.composition import App
from cinder.browser.profiles import COOKIES_FILE_NAME
from cinder.errors import ProfileLocked
from cinder.mcp.login_elicitation import LOGIN_KEY
from cinder.mcp.server import TOOLS, build_server
from cinder.mcp.streamable_http import open_http
from cinder.models.caller import Caller, TokenScope
from cinder.models.request import Profile
from tests.api.running import run_server
from tests.browser.display import Display, open_display
from tests.browser.processes import until
from tests.browser.runtime import scrape
from tests.mcp.conftest import Era
from tests.mcp.reading import error_of, text_of
from tests.mcp.test_streamable_http import URL
from tests.site import Site

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
BEHIND = "Rake the ash aside"


@dataclass
class Person:
    """Answers questions, and logs in by looking at the page with the master browser."""

    app: App
    site: Site
    action: Literal["accept", "decline", "cancel"] = "accept"
    asked: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)

    async def answer(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        self.asked.append(params.message)
        return types.ElicitResult(action=self.action, content={})

    async def log_in(self, url: str) -> bool:
        self.opened.append(url)
        await scrape(self.app, self.site, "/members", profile=Profile.MASTER)
        return True

    def at_the_display(self) -> App:
        return replace(self.app, log_in=self.log_in)


@pytest.fixture
def person(app: App, site: Site) -> Person:
    return Person(app, site)


def connect(app: App, era: Era, person: Person | None) -> Client:
    """Return a client that can ask the person, if there is one."""
    asking = person.answer if person else None
    return Client(build_server(app, TOOLS), mode=era, elicitation_callback=asking)


async def read(client: Client, site: Site, **arguments: Any) -> types.CallToolResult:
    await client.list_tools()
    return await client.call_tool("scrape", {"url": site.url("/members"), **arguments})


def verdict_of(result: types.CallToolResult) -> object:
    assert isinstance(result.structured_content, dict), result
    return result.structured_content["verdict"]


@ERAS
async def test_who_logs_in_gets_the_page_behind_the_wall(
    person: Person, site: Site, era: Era
) -> None:
    async with connect(person.at_the_display(), era, person) as client:
        result = await read(client, site)
    assert (verdict_of(result), person.opened) == ("ok", [site.url("/members")])
    assert BEHIND in text_of(result)
    (question,) = person.asked
    assert question.startswith("127.0.0.1 requires a login. Open a browser window to log in?")


@ERAS
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_who_would_rather_not_gets_the_wall_and_its_advice(
    person: Person, site: Site, era: Era, action: Literal["decline", "cancel"]
) -> None:
    person.action = action
    async with connect(person.at_the_display(), era, person) as client:
        result = await read(client, site, resultHandling="returnOnly")
        hits = site.hits("/members")
        await read(client, site)
    assert (verdict_of(result), person.opened) == ("login_wall", [])
    assert "cinder open-browser" in str(result.structured_content)
    # The page is not fetched again to say so, and who said no is not asked again.
    assert hits == 1
    assert len(person.asked) == (1 if action == "decline" else 2)


@ERAS
async def test_nobody_is_asked_without_a_display(
    app: App, person: Person, site: Site, era: Era
) -> None:
    async with connect(replace(app, log_in=None), era, person) as client:
        result = await read(client, site)
    assert (verdict_of(result), person.asked) == ("login_wall", [])


@ERAS
async def test_clients_that_cannot_ask_get_the_wall(person: Person, site: Site, era: Era) -> None:
    async with connect(person.at_the_display(), era, None) as client:
        result = await read(client, site)
    assert (verdict_of(result), person.opened) == ("login_wall", [])


@ERAS
async def test_nobody_is_asked_where_no_browser_may_fetch(
    person: Person, site: Site, era: Era
) -> None:
    async with connect(person.at_the_display(), era, person) as client:
        result = await read(client, site, mode="static")
    assert (verdict_of(result), person.asked) == ("login_wall", [])


@ERAS
async def test_a_window_that_does_not_open_is_told_of(
    app: App, person: Person, site: Site, era: Era
) -> None:
    async def fail(_url: str) -> bool:
        raise ProfileLocked("The browser profile is in use by process 7.")

    async with connect(replace(app, log_in=fail), era, person) as client:
        told = error_of(await read(client, site))
    assert told.startswith("PROFILE_LOCKED: The browser profile is in use by process 7.")


def sent_by(caller: Caller, endpoint: ASGIApp) -> ASGIApp:
    async def sent(scope: AsgiScope, receive: Receive, send: Send) -> None:
        set_caller(Request(scope), caller)
        await endpoint(scope, receive, send)

    return sent


@asynccontextmanager
async def over_http(app: App, era: Era, caller: Caller, person: Person) -> AsyncIterator[Client]:
    async with open_http(app, build_server) as endpoint:
        transport = httpx2.ASGITransport(app=sent_by(caller, endpoint))
        async with (
            httpx2.AsyncClient(transport=transport) as http,
            Client(
                streamable_http_client(URL, http_client=http),
                mode=era,
                elicitation_callback=person.answer,
            ) as client,
        ):
            yield client


@ERAS
async def test_over_http_only_the_owner_is_asked(person: Person, site: Site, era: Era) -> None:
    person.action = "cancel"
    app = person.at_the_display()
    made = await app.callers.create("admin", [TokenScope.ADMIN])
    async with over_http(app, era, made.token.caller, person) as client:
        result = await read(client, site)
    assert (verdict_of(result), person.asked) == ("login_wall", [])


@ERAS
async def test_over_http_the_owner_is_asked(
    tmp_path: Path, person: Person, site: Site, era: Era
) -> None:
    person.action = "cancel"
    variables = {"CINDER_EGRESS__ALLOW": site.address, "DISPLAY": ":0"}
    async with (
        run_server(tmp_path / "cinder", **variables) as server,
        server.client() as http,
        Client(
            streamable_http_client(f"{server.url}/mcp", http_client=http),
            mode=era,
            elicitation_callback=person.answer,
        ) as client,
    ):
        result = await read(client, site)
    assert (verdict_of(result), len(person.asked)) == ("login_wall", 1)


@ERAS
async def test_while_the_window_is_open_the_client_is_told_of_it(
    app: App, person: Person, site: Site, era: Era
) -> None:
    told: list[tuple[float, str]] = []
    is_told = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message or ""))
        if "login" in told[-1][1]:
            is_told.set()

    async def log_in(_url: str) -> bool:
        async with asyncio.timeout(60):
            return await is_told.wait()

    async with connect(replace(app, log_in=log_in), era, person) as client:
        call = {"url": site.url("/members")}
        await client.call_tool("scrape", call, progress_callback=note)
    login = [report for report in told if report[1].startswith("Waiting for the login for")]
    assert login
    # Modern clients call twice, and each call has a progress of its own.
    reports = told if era == "legacy" else login
    assert reports == sorted(reports)


async def test_an_answer_to_another_question_is_none(person: Person, site: Site) -> None:
    yes: types.InputResponses = {LOGIN_KEY: types.ElicitResult(action="accept", content={})}
    async with connect(person.at_the_display(), "auto", person) as client:
        session, call = client.session, {"url": site.url("/members")}
        first = await session.call_tool("scrape", call, allow_input_required=True)
        assert isinstance(first, types.InputRequiredResult)
        other = {**call, "maxAge": 0}
        for arguments, state in ((call, "made-up"), (other, first.request_state)):
            again = await session.call_tool(
                "scrape",
                arguments,
                input_responses=yes,
                request_state=state,
                allow_input_required=True,
            )
            assert isinstance(again, types.InputRequiredResult)
            assert again.request_state not in (None, state)
    assert person.opened == []


async def test_a_question_without_its_answer_is_asked_again(person: Person, site: Site) -> None:
    async with connect(person.at_the_display(), "auto", person) as client:
        session, call = client.session, {"url": site.url("/members")}
        first = await session.call_tool("scrape", call, allow_input_required=True)
        assert isinstance(first, types.InputRequiredResult)
        again = await session.call_tool(
            "scrape", call, request_state=first.request_state, allow_input_required=True
        )
    assert isinstance(again, types.InputRequiredResult)
    assert again.input_requests == first.input_requests
    assert site.hits("/members") == 1


@pytest.fixture(scope="module")
def display() -> Iterator[Display]:
    with open_display() as running:
        yield running


@ERAS
async def test_a_login_in_a_window_over_stdio(
    tmp_path: Path, site: Site, person: Person, display: Display, era: Era
) -> None:
    environment = {
        **os.environ,
        "DISPLAY": display.name,
        "CINDER_DATA_DIR": str(tmp_path / "cinder"),
        "CINDER_EGRESS__ALLOW": site.address,
        "CINDER_BROWSER__MASTER_LOGIN_REFRESH_INTERVAL_MS": "100",
    }
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "cinder", "mcp"], env=environment
    )

    saved = tmp_path / "cinder" / "browser" / "master" / COOKIES_FILE_NAME

    def is_closed() -> bool:
        # As who is done with it closes it: not before the login was made.
        is_done = saved.exists() and "member" in saved.read_text()
        return is_done and display.close_windows() > 0

    async with (
        Client(server, mode=era, elicitation_callback=person.answer) as client,
        asyncio.TaskGroup() as tasks,
        asyncio.timeout(100),
    ):
        tasks.create_task(until(is_closed))
        result = await read(client, site)
    assert (verdict_of(result), len(person.asked)) == ("ok", 1)
    assert BEHIND in text_of(result)
