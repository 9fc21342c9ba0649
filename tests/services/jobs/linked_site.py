"""A website on loopback whose pages a test writes, under as many names as it likes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

TEXT = "The words of page {} are its own, as no other page of this site has them: {}."


def a_page(name: str, *links: str, head: str = "", text: str = "") -> str:
    """Return a page with a text of its own that links to others."""
    body = text or TEXT.format(name, name * 3)
    listed = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return (
        f"<html><head><title>{name}</title>{head}</head>"
        f"<body><main><h1>{name}</h1><p>{body}</p></main><nav><ul>{listed}</ul></nav></body></html>"
    )


@dataclass
class LinkedSite:
    """A running website."""

    port: int
    pages: Mapping[str, str]
    """By path, or by host and path where that host has other pages."""
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    """The URLs that paths redirect to for good."""
    asked: list[str] = field(default_factory=list)
    """The pages requested, in order, with the host where that is not `site.test`."""
    received: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """The headers of the last request for each of them, by lowercase names."""

    def url(self, path: str, host: str = "site.test") -> str:
        return f"http://{host}:{self.port}{path}"


@contextmanager
def serve_pages(pages: Mapping[str, str]) -> Iterator[LinkedSite]:
    """Serve pages until the exit; `{port}` in them is that of the site."""
    running = LinkedSite(0, pages)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            host = self.headers["Host"].partition(":")[0]
            name = self.path if host == "site.test" else f"{host}{self.path}"
            body = running.pages.get(name)
            if self.path != "/robots.txt":
                running.asked.append(name)
                running.received[name] = {k.lower(): v for k, v in self.headers.items()}
            data = (body or "no such page").replace("{port}", str(running.port)).encode()
            location = running.redirects.get(name)
            self.send_response(301 if location else 404 if body is None else 200)
            if location:
                self.send_header("Location", location)
            kind = "application/xml" if self.path.endswith(".xml") else "text/html; charset=utf-8"
            for key, value in {"Content-Type": kind, **running.headers.get(name, {})}.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        running.port = server.server_address[1]
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield running
        finally:
            server.shutdown()
            thread.join()
