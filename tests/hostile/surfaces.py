"""Sends a request through REST, MCP over HTTP and the command line, and tells what came back."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.api.running import RunningServer
from tests.hostile.case import OK, Surface, Task
from tests.hostile.commands import Commands
from tests.mcp.reading import text_of

_OVER = ("completed", "failed", "cancelled")
_WATCH_SECONDS = 6
_MAX_ARGUMENT_CHARS = 100_000
_INTERRUPTED = 130
_CLIENT_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Reply:
    """What a surface answered."""

    code: str
    output_bytes: int
    detail: str = ""


class Sender(Protocol):
    """One surface."""

    def can_say(self, task: Task, given: Mapping[str, Any]) -> bool:
        """Whether the request can be put in this surface's words at all."""
        ...

    async def send(self, task: Task, given: Mapping[str, Any]) -> Reply:
        """Send a request and return what came; for a crawl, once it is over or has had its time."""
        ...


class RestSender:
    """POST /api/v2/scrape, and /v1/crawl, /v1/search, /v1/extract."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    def can_say(self, task: Task, given: Mapping[str, Any]) -> bool:
        """Return True: JSON says everything."""
        return True

    async def send(self, task: Task, given: Mapping[str, Any]) -> Reply:
        """Send a request and return what came."""
        path = "/api/v2/scrape" if task is Task.SCRAPE else f"/v1/{task}"
        # A lone surrogate can only be written escaped, as this does.
        body = json.dumps(given).encode()
        answer = await self._client.post(
            path, content=body, headers={"content-type": "application/json"}
        )
        told = answer.json()
        if "error" in told:
            return Reply(told["error"]["code"], len(answer.content), answer.text)
        if answer.status_code >= httpx2.codes.BAD_REQUEST:
            return Reply(f"HTTP {answer.status_code}", len(answer.content), answer.text)
        if task is Task.CRAWL:
            await self._watch(told["crawlId"] if "crawlId" in told else told["id"])
        return Reply(OK, len(answer.content))

    async def _watch(self, crawl: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_WATCH_SECONDS):
                while True:
                    answer = await self._client.get(f"/v1/crawl/{crawl}")
                    if answer.json()["status"] in _OVER:
                        return
                    await asyncio.sleep(0.1)  # the server says when it is asked, and only then
        # A site that does not say what robots may read is asked again, for minutes.
        (await self._client.delete(f"/v1/crawl/{crawl}")).raise_for_status()


class McpSender:
    """The tools `scrape`, `cinder_crawl` and so on, in one session for all requests."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def can_say(self, task: Task, given: Mapping[str, Any]) -> bool:
        """Whether the request is text that a client can send, and no deeper than it can write."""
        return _is_text(given) and _depth(given) <= _CLIENT_DEPTH

    async def send(self, task: Task, given: Mapping[str, Any]) -> Reply:
        """Call a tool and return what came."""
        tool = "scrape" if task is Task.SCRAPE else f"cinder_{task}"
        try:
            result = await self._client.call_tool(tool, dict(given))
        except MCPError as error:
            return Reply("PROTOCOL_ERROR", 0, str(error))
        text = text_of(result)
        size = len(result.model_dump_json())
        if result.is_error:
            return Reply(text.partition(":")[0], size, text)
        if task is Task.CRAWL:
            await self._watch(str((result.structured_content or {})["crawlId"]))
        return Reply(OK, size)

    async def _watch(self, crawl: str) -> None:
        looking = {"id": crawl, "waitSeconds": _WATCH_SECONDS}
        result = await self._client.call_tool("cinder_get_crawl_status", looking)
        assert not result.is_error, text_of(result)


class CliSender:
    """`cinder scrape`, `cinder crawl` and so on, each a process of its own beside the server."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def can_say(self, task: Task, given: Mapping[str, Any]) -> bool:
        """Whether there are arguments for it: all of one type, and nothing that none may hold."""
        try:
            arguments = arguments_for(task, given)
        except (KeyError, TypeError):
            return False
        return all(
            "\0" not in each and len(each) < _MAX_ARGUMENT_CHARS and _is_text(each)
            for each in arguments
        )

    async def send(self, task: Task, given: Mapping[str, Any]) -> Reply:
        """Run a command and return what came."""
        # As over the other surfaces: a site without robots.txt is asked again, for minutes.
        patience = 2 * _WATCH_SECONDS if task is Task.CRAWL else None
        ended = await self._commands.run(arguments_for(task, given), patience)
        is_left = ended.was_stopped and ended.exit_code in (0, 1, _INTERRUPTED)
        code = OK if is_left else _cli_code(ended.exit_code, task, ended.out)
        return Reply(code, len(ended.out), ended.err.decode()[-500:])


def arguments_for(task: Task, given: Mapping[str, Any]) -> list[str]:
    """Return the command line for a request.

    Raises:
        KeyError: there is no option for something.
        TypeError: something is not of the type that its option takes.
    """
    arguments: list[str] = [task.value, "--json"]
    subject = _SUBJECTS.get(task, "url")
    for name, value in given.items():
        if name != subject:
            arguments += _OPTIONS[task][name](value)
    about = given[subject]
    return [*arguments, "--", *map(_string, about if task is Task.EXTRACT else [about])]


def _each(option: str) -> Any:  # Any: a function of JSON, which may be of any type
    return lambda values: [part for value in _list(values) for part in (option, _string(value))]


def _one(option: str) -> Any:
    return lambda value: [option, str(value)]


def _headers(values: Any) -> list[str]:
    if not isinstance(values, dict):
        raise TypeError("headers")
    return [part for name, value in values.items() for part in ("-H", f"{name}: {_string(value)}")]


def _actions(values: Any) -> list[str]:
    return [part for value in _list(values) for part in ("--action", json.dumps(value))]


def _parsers(values: Any) -> list[str]:
    if values != [{"type": "pdf"}]:
        raise TypeError("parsers")
    return ["--parse-pdf"]


def _list(values: Any) -> Sequence[Any]:
    if not isinstance(values, list):
        raise TypeError("list")
    return values


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("string")
    return value


# What a command is about, which stands after its options.
_SUBJECTS = {Task.SEARCH: "query", Task.EXTRACT: "urls"}
_OPTIONS: dict[Task, dict[str, Any]] = {
    Task.SCRAPE: {
        "actions": _actions,
        "excludeTags": _each("--exclude"),
        "formats": _each("--format"),
        "headers": _headers,
        "includeTags": _each("--include"),
        "maxAge": _one("--max-age"),
        "maxChars": _one("--max-chars"),
        "mode": _one("--mode"),
        "parsers": _parsers,
        "startIndex": _one("--start-index"),
        "timeout": _one("--timeout"),
        "waitFor": _one("--wait-for"),
    },
    Task.CRAWL: {
        "delay": _one("--delay"),
        "includePatterns": _each("--include"),
        "maxDepth": _one("--max-depth"),
        "maxPages": _one("--max-pages"),
        "scope": _one("--scope"),
    },
    Task.SEARCH: {
        "excludeDomains": _each("--exclude-domain"),
        "includeDomains": _each("--include-domain"),
        "maxAge": _one("--max-age"),
        "mode": _one("--mode"),
        "numResults": _one("--num"),
        "offset": _one("--offset"),
        "providers": _each("--provider"),
        "requiredText": _each("--required-text"),
    },
    Task.EXTRACT: {"mode": _one("--mode"), "prompt": _one("--prompt")},
}


def _cli_code(exit_code: int, task: Task, out: bytes) -> str:
    if exit_code == 0:
        return OK
    if exit_code == 2:
        return "VALIDATION_ERROR"
    try:
        told = json.loads(out)
    except ValueError:
        # A crawl that got no page has told of it line by line.
        return OK if task is Task.CRAWL and exit_code == 1 else f"exit {exit_code}"
    return str(told["error"]["code"]) if "error" in told else OK


def _depth(value: object) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        objects = [part for each in level if isinstance(each, dict) for part in each.values()]
        level = [part for each in level if isinstance(each, list) for part in each] + objects
    return depth


def _is_text(given: object) -> bool:
    try:
        json.dumps(given, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


@asynccontextmanager
async def open_senders(
    server: RunningServer, commands: Commands
) -> AsyncIterator[dict[Surface, Sender]]:
    """Open every surface of a server, and the command line beside it."""
    async with (
        server.client() as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as mcp,
    ):
        yield {
            Surface.REST: RestSender(http),
            Surface.MCP: McpSender(mcp),
            Surface.CLI: CliSender(commands),
        }
