"""Crawls of documentation behind nginx: which pages cinder misses beside an independent crawler.

A page that cinder did not keep counts as missing, unless its row in the ledger gives a reason that
the other crawler confirms: it redirects there, it names that page as canonical, or it has the same
words as that page.
"""

import asyncio
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.contestant import PEERS_PYTHON, ROOT
from bench.postgres import run_measured_postgres
from cinder.app.composition import open_app
from cinder.config.settings import read_settings
from cinder.crawl.scope import ScopeKind, ScopeRules
from cinder.crawl.urls import canonicalize_url
from cinder.models.job import LedgerPage, PageStatus
from cinder.models.request import OWNER
from cinder.services.jobs.specs import CrawlSpec
from training.documentation import DOC_SITES, DocSite

_LISTED = 20
_POLL_SECONDS = 0.2
_PART = 1_000
_READY_SECONDS = 20
_CONFIG = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    types {{ text/html html htm; text/plain txt; text/css css; application/javascript js;
             image/png png; image/svg+xml svg; image/gif gif; application/xml xml;
             application/pdf pdf; }}
    default_type application/octet-stream;
    access_log off;
    absolute_redirect off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; root {root}; index index.html; }}
}}
"""

Reference = Mapping[str, Mapping[str, Any]]  # Any: what the other crawler printed


async def bench_sites(sample: int | None) -> None:
    """Crawl the sites that are installed, the first `sample` of them, on both databases."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None or not PEERS_PYTHON.exists():
        missing = "nginx (package nginx-light)" if nginx is None else PEERS_PYTHON
        print(f"sites: not measured, {missing} is missing")
        return
    for site in DOC_SITES[:sample]:
        if not site.find_pages():
            print(f"sites: {site.name}: not measured, the package {site.package} is missing")
            continue
        with _serve(site, nginx) as start:
            reference = await _run_reference(start)
            await _compare(site, start, reference, None)
            with run_measured_postgres() as server:
                await _compare(site, start, reference, server.url)


async def _compare(site: DocSite, start: str, reference: Reference, store_url: str | None) -> None:
    began = time.monotonic()
    rows = await _crawl(start, store_url)
    judged = judge(reference, rows)
    kept = sum(row.fate is PageStatus.FETCHED for row in rows)
    database = "PostgreSQL" if store_url else "SQLite"
    print(
        f"sites: {site.name} on {database}: {len(judged.pages)} pages, {kept} kept, "
        f"{judged.merged} merged with a reason, {len(judged.missing)} missing, "
        f"{len(judged.extra)} extra, {time.monotonic() - began:.0f} s",
        flush=True,
    )
    for name, lines in (("missing", judged.missing), ("extra", judged.extra)):
        for line in lines[:_LISTED]:
            print(f"    {name}: {line}")


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of the pages that the other crawler found."""

    pages: tuple[str, ...]
    merged: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]


def judge(reference: Reference, rows: list[LedgerPage]) -> Judged:
    """Compare the rows of a crawl with what the other crawler found."""
    known = {_key(url): page for url, page in reference.items()}
    ledger = {_key(row.url): row for row in rows}
    pages = tuple(key for key, page in known.items() if "text" in page)
    missing = []
    merged = 0
    for key in pages:
        row = ledger.get(key)
        if row is None:
            missing.append(f"{key} has no row")
        elif row.fate is PageStatus.DUPLICATE and _agrees(known, key, row):
            merged += 1
        elif row.fate is not PageStatus.FETCHED:
            missing.append(f"{key}: {row.fate}: {row.reason}")
    extra = tuple(
        f"{key}: {known[key]['status'] if key in known else 'not linked'}"
        for key, row in ledger.items()
        if row.fate is PageStatus.FETCHED and (key not in known or known[key]["status"] != 200)
    )
    return Judged(pages, merged, tuple(missing), extra)


def _agrees(known: Reference, key: str, row: LedgerPage) -> bool:
    """Whether the other crawler confirms why a page is a duplicate."""
    url, _, why = row.reason.partition(" ")
    original, page = known.get(_key(url), {}), known[key]
    if why == "(its canonical URL)":
        return _key(page.get("canonical") or "") == _key(url)
    return page.get("text") == original.get("text")


def _key(url: str) -> str:
    address = canonicalize_url(url)
    return url if address is None else address.key


async def _crawl(start: str, store_url: str | None) -> list[LedgerPage]:
    """Return every row of a crawl of a whole site."""
    with tempfile.TemporaryDirectory() as folder:
        settings = read_settings(
            data_dir=Path(folder),
            egress={"allow": ("127.0.0.0/8",), "ports": ("1-65535",)},
            **({"store": {"url": store_url}} if store_url else {}),
        )
        scope = ScopeRules(kind=ScopeKind.HOST, max_depth=1_000)
        spec = CrawlSpec(url=start, scope=scope, max_pages=50_000)
        async with open_app(settings, works_on_jobs=True) as app:
            job = await app.jobs.start_crawl(spec, OWNER)
            while not job.status.is_over:
                await asyncio.sleep(_POLL_SECONDS)
                job = await app.jobs.find(job.id, job.kind, OWNER)
            rows: list[LedgerPage] = []
            while part := await app.jobs.list_pages(job, None, offset=len(rows), limit=_PART):
                rows += part
            return rows


async def _run_reference(start: str) -> Reference:
    process = await asyncio.create_subprocess_exec(
        *(str(PEERS_PYTHON), "-m", "bench.crawlers.breadth_first", start),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    printed, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(f"sites: the independent crawler failed on {start}")
    found: Reference = json.loads(printed)
    return found


@contextmanager
def _serve(site: DocSite, nginx: str) -> Iterator[str]:
    """Serve a site with nginx on loopback until the exit; yield the URL of its first page."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        config = Path(folder) / "nginx.conf"
        config.write_text(_CONFIG.format(folder=folder, port=port, root=site.folder))
        command = (nginx, "-p", folder, "-c", str(config), "-e", f"{folder}/error.log")
        process = subprocess.Popen(command)
        try:
            _wait_for(port)
            yield f"http://127.0.0.1:{port}/{_start_of(site)}"
        finally:
            process.terminate()
            process.wait()


def _start_of(site: DocSite) -> str:
    names = ("index.html", "git.html", "contents.html")
    return next(("" if n == "index.html" else n for n in names if (site.folder / n).is_file()), "")


def _wait_for(port: int) -> None:
    until = time.monotonic() + _READY_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return
