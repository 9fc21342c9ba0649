"""A website on loopback that serves the files of a table, such as sitemaps."""

import gzip
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass(slots=True)
class MappedSite:
    """A running website; `{site}` in its files is its address."""

    base: str
    files: dict[str, bytes | int] = field(default_factory=dict)
    """By path, the body, or a status without one."""
    asked: Counter[str] = field(default_factory=Counter)

    @property
    def address(self) -> str:
        return self.base.removeprefix("http://")

    def url(self, path: str) -> str:
        return self.base + path

    def put(self, files: Mapping[str, str | bytes | int]) -> None:
        for path, body in files.items():
            if isinstance(body, str):
                body = body.replace("{site}", self.base).encode()  # noqa: PLW2901 - as served
            self.files[path] = body

    def put_sitemaps(self, pages: list[str], per_sitemap: int, *, is_zipped: bool = True) -> None:
        """Serve a sitemap index of these pages, each with the date of its last change."""
        names = []
        for start in range(0, len(pages), per_sitemap):
            entries = "".join(
                f"<url><loc>{self.base}{path}</loc>"
                f"<lastmod>2026-01-{number % 28 + 1:02d}</lastmod></url>"
                for number, path in enumerate(pages[start : start + per_sitemap], start)
            )
            body = f"<urlset>{entries}</urlset>".encode()
            names.append(f"/sitemap-{start}.xml{'.gz' if is_zipped else ''}")
            self.files[names[-1]] = gzip.compress(body) if is_zipped else body
        listed = "".join(f"<sitemap><loc>{self.base}{name}</loc></sitemap>" for name in names)
        self.files["/sitemap.xml"] = f"<sitemapindex>{listed}</sitemapindex>".encode()


@contextmanager
def serve_mapped_site() -> Iterator[MappedSite]:
    """Serve a website until the exit."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.asked[self.path] += 1
            answer = site.files.get(self.path, 404)
            status, body = (answer, b"") if isinstance(answer, int) else (200, answer)
            self.send_response(status)
            is_page = not self.path.endswith((".xml", ".gz", ".txt"))
            self.send_header("Content-Type", "text/html" if is_page else "application/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = MappedSite(f"http://127.0.0.1:{server.server_port}")
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
