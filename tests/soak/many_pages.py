"""`python -m tests.soak.many_pages COUNT`: a website of small pages, each with words of its own."""

import asyncio
import sys

from tests.store.index.searching import WORDS, page_text

BRANCHES = 10


def path_of(number: int) -> str:
    """Return a page's path; no two of them look like the days of a calendar."""
    return f"/{WORDS[number % len(WORDS)]}/page-{number}" if number else "/"


def build_page(number: int, count: int) -> bytes:
    """Return a page with links to those below it, so that all are found."""
    first = number * BRANCHES + 1
    links = "".join(
        f'<li><a href="{path_of(each)}">Page {each}</a></li>'
        for each in range(first, min(first + BRANCHES, count))
    )
    return (
        f"<!doctype html><html lang='en'><head><title>Page {number}</title></head><body><main>"
        f"<h1>Page {number}</h1><p>{page_text(number)}</p></main><ul>{links}</ul></body></html>"
    ).encode()


async def serve(count: int) -> None:
    """Serve the pages on any free port, having printed the port."""
    pages = {path_of(number): build_page(number, count) for number in range(count)}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                body = pages.get(head.split(b" ", 2)[1].decode(), b"")
                status = b"200 OK" if body else b"404 Not Found"
                writer.write(
                    b"HTTP/1.1 %b\r\nContent-Type: text/html; charset=utf-8\r\n"
                    b"Content-Length: %d\r\n\r\n%b" % (status, len(body), body)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
