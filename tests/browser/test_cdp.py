"""The pipe to a browser: commands, responses, events, and its end."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from cinder.browser.cdp import CdpMessage, CommandFailed, ConnectionClosed, PipeConnection


class OtherEnd:
    """The browser's end of a pipe, played by the test."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._commands = os.fdopen(read_fd, "rb", 0)
        self._answers = os.fdopen(write_fd, "wb", 0)

    def write(self, data: bytes) -> None:
        self._answers.write(data)

    def say(self, **message: object) -> None:
        self.write(json.dumps(message).encode() + b"\0")

    async def read(self) -> dict[str, Any]:
        """Return the next command. Any: the protocol's JSON."""
        data = b""
        while not data.endswith(b"\0"):
            data += await asyncio.to_thread(self._commands.read, 1)
        message: dict[str, Any] = json.loads(data[:-1])
        return message

    def close(self) -> None:
        with suppress(OSError):
            self._answers.close()
        self._commands.close()


@pytest.fixture
async def pipe() -> AsyncIterator[tuple[PipeConnection, OtherEnd]]:
    commands_read, commands_write = os.pipe()
    answers_read, answers_write = os.pipe()
    other = OtherEnd(commands_read, answers_write)
    connection = await PipeConnection.open(answers_read, commands_write, max_message_bytes=10_000)
    yield connection, other
    connection.close()
    other.close()


Pipe = tuple[PipeConnection, OtherEnd]


async def test_each_command_gets_its_own_answer_in_whatever_order(pipe: Pipe) -> None:
    connection, other = pipe
    first = connection.browser.post("Browser.getVersion")
    second = connection.session("tab").post("Page.enable", deep=True)
    sent = [await other.read(), await other.read()]
    assert sent == [
        {"id": 1, "method": "Browser.getVersion", "params": {}},
        {"id": 2, "method": "Page.enable", "params": {"deep": True}, "sessionId": "tab"},
    ]
    other.say(id=2, result={"n": 2})
    other.say(id=1, result={"n": 1})
    assert [await first, await second] == [{"n": 1}, {"n": 2}]


async def test_what_the_browser_refuses_fails_with_its_words(pipe: Pipe) -> None:
    connection, other = pipe
    answer = connection.browser.post("Nope.nope")
    other.say(id=1, error={"message": "'Nope.nope' wasn't found"})
    with pytest.raises(CommandFailed, match="wasn't found"):
        await answer


async def test_messages_may_come_in_pieces_and_several_at_once(pipe: Pipe) -> None:
    connection, other = pipe
    heard: list[object] = []
    connection.browser.on("Told", lambda params: heard.append(params["n"]))
    answer = connection.browser.post("Wait")
    other.write(b'{"method": "To')
    await asyncio.sleep(0)
    other.write(b'ld", "params": {"n": 1}}\0{"method": "Told", "params": {"n": 2}}\0{"id"')
    other.write(b': 1, "result": {}}\0')
    await answer
    assert heard == [1, 2]


async def test_the_browsers_end_fails_what_waits_and_what_comes_later(pipe: Pipe) -> None:
    connection, other = pipe
    waiting = [connection.browser.post("A"), connection.session("tab").post("B")]
    other.close()
    await connection.closed
    for answer in waiting:
        with pytest.raises(ConnectionClosed):
            await answer
    with pytest.raises(ConnectionClosed):
        await connection.browser.send("C")


async def test_a_message_beyond_the_limit_ends_the_connection(pipe: Pipe) -> None:
    connection, other = pipe
    answer = connection.browser.post("A")
    other.write(b"x" * 10_001)
    with pytest.raises(ConnectionClosed):
        await answer
    assert connection.closed.done()


@pytest.mark.parametrize("message", [b"not json\0", b'{"method": "Told", "params": {}}\0'])
async def test_what_cannot_be_understood_ends_this_connection_alone(
    pipe: Pipe, message: bytes
) -> None:
    connection, other = pipe
    connection.browser.on("Told", lambda params: params["missing"])
    answer = connection.browser.post("A")
    other.write(message)
    with pytest.raises(ConnectionClosed):
        await answer


async def test_a_closed_session_hears_no_more_events(pipe: Pipe) -> None:
    connection, other = pipe
    session = connection.session("tab")

    def go_on(_: CdpMessage) -> None:
        session.post("Continue")

    session.on("Paused", go_on)
    session.close("The page misbehaved")
    other.say(method="Paused", sessionId="tab", params={})
    other.say(method="Unknown", sessionId="nobody", params={})
    answer = connection.browser.post("A")
    other.say(id=1, result={})
    assert await answer == {}


async def test_a_forgotten_session_fails_what_was_asked_in_it(pipe: Pipe) -> None:
    connection, _ = pipe
    answer = connection.session("tab").post("A")
    connection.forget("tab", "The tab was closed")
    with pytest.raises(ConnectionClosed, match="The tab was closed"):
        await answer


async def test_an_answer_that_nobody_waits_for_any_more_is_ignored(pipe: Pipe) -> None:
    connection, other = pipe
    given_up = connection.browser.post("A")
    given_up.cancel()
    answer = connection.browser.post("B")
    other.say(id=1, result={"late": True})
    other.say(id=2, result={})
    assert await answer == {}


async def test_a_listener_that_was_removed_hears_nothing(pipe: Pipe) -> None:
    connection, other = pipe
    heard: list[object] = []
    stop = connection.browser.on("Told", heard.append)
    stop()
    other.say(method="Told", params={})
    answer = connection.browser.post("A")
    other.say(id=1, result={})
    await answer
    assert heard == []
