"""The floor: one tab, told over a pipe to navigate and to hand over its HTML, and nothing else."""

import asyncio
import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.contestant import answer_lines, take_stdout

# Where --remote-debugging-pipe has the browser read commands and write answers.
BROWSER_READS, BROWSER_WRITES = 3, 4
FIRST_FREE_DESCRIPTOR = 10
CHUNK_BYTES = 2**20
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--remote-debugging-pipe",
    "--disable-background-networking",
    "--disable-gpu",
    "--hide-scrollbars",
    "--mute-audio",
)
# Any: what a message holds depends on its method.
Message = dict[str, Any]
HTML_ONCE_WRITTEN = """new Promise(done => {
  const look = () => document.querySelector(SELECTOR)
    ? done(document.documentElement.outerHTML) : setTimeout(look, 20);
  look();
})"""


class Pipe:
    """Messages to and from a browser, one at a time."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        self._buffer = b""
        self._last_id = 0

    def call(self, method: str, session: str | None = None, **params: object) -> Message:
        """Send a command and return its result, passing over events."""
        self._last_id += 1
        message: Message = {"id": self._last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        answer = self._next()
        while answer.get("id") != self._last_id:
            answer = self._next()
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: Message = answer["result"]
        return result

    def wait_for(self, event: str) -> Message:
        """Return the params of the next such event, passing over others."""
        message = self._next()
        while message.get("method") != event:
            message = self._next()
        params: Message = message["params"]
        return params

    def _next(self) -> Message:
        while b"\0" not in self._buffer:
            chunk = os.read(self._reading, CHUNK_BYTES)
            if not chunk:
                raise RuntimeError("the browser has ended")
            self._buffer += chunk
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: Message = json.loads(text)
        return message


def open_tab(pipe: Pipe) -> str:
    """Return the session of a new tab that tells of its navigations."""
    target = pipe.call("Target.createTarget", url="about:blank")["targetId"]
    session: str = pipe.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    pipe.call("Page.enable", session)
    return session


def render(pipe: Pipe, session: str, url: str, selector: str) -> str:
    """Return a page's HTML once an element is there."""
    loader = pipe.call("Page.navigate", session, url=url)["loaderId"]
    # The command is answered while the tab still shows the page before.
    while pipe.wait_for("Page.frameNavigated")["frame"]["loaderId"] != loader:
        pass
    answer = pipe.call(
        "Runtime.evaluate",
        session,
        expression=HTML_ONCE_WRITTEN.replace("SELECTOR", json.dumps(selector)),
        awaitPromise=True,
        returnByValue=True,
    )
    html: str = answer["result"]["value"]
    return html


@contextmanager
def open_browser(executable: str, folder: str) -> Iterator[Pipe]:
    """Run a browser on a pipe until the exit."""
    theirs_in, ours_out = map(_move_up, os.pipe())
    ours_in, theirs_out = map(_move_up, os.pipe())
    arguments = [executable, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
    actions: list[tuple[int, int, int] | tuple[int, int, str, int, int]] = [
        # It tells of the system bus and the graphics card that a server does not have.
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, theirs_in, BROWSER_READS),
        (os.POSIX_SPAWN_DUP2, theirs_out, BROWSER_WRITES),
    ]
    pid = os.posix_spawn(executable, arguments, os.environ, file_actions=actions)
    os.close(theirs_in)
    os.close(theirs_out)
    pipe = Pipe(ours_in, ours_out)
    try:
        yield pipe
    finally:
        pipe.call("Browser.close")
        os.waitpid(pid, 0)


def _move_up(descriptor: int) -> int:
    # A duplicate onto itself would keep its close-on-exec mark and so reach the browser closed.
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_DESCRIPTOR)
    os.close(descriptor)
    return moved


async def main() -> None:
    executable, folder, selector = sys.argv[1:]
    answers = take_stdout()
    with open_browser(executable, folder) as pipe:
        session = open_tab(pipe)

        async def render_page(url: str) -> str:
            return render(pipe, session, url, selector)

        await answer_lines(answers, render_page)


asyncio.run(main())
