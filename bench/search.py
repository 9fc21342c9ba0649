"""The local index: how well it ranks, what it costs, how fast it answers."""

import asyncio
import json
import math
import random
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cinder.models.document import (
    Document,
    Extraction,
    FetchSource,
    PageMetadata,
    Verdict,
    VerdictKind,
)
from cinder.store import open_store
from cinder.store.document_rows import EntryKey
from cinder.store.documents import Store
from cinder.store.index.page_index import IndexQuery
from cinder.store.index.ranking import Embedder
from tests.store.postgres import PostgresServer, run_postgres

BAR_SQLITE, BAR_POSTGRESQL, BAR_EMBEDDINGS = 0.355, 0.325, 0.39
BAR_INDEX_MS, BAR_QUERY_MS = 1, 15
PAGES = 20_000
TIMED_PAGES = 2_000
PAGE_CHARS = 3_000
TOP = 10
_AT_ONCE = 50
_SEED = 6


@dataclass(frozen=True, slots=True)
class Abstract:
    """One of the collection's documents."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One of the collection's queries, with how relevant which documents are."""

    text: str
    relevant: Mapping[str, int]


async def bench_search(data: Path) -> None:
    folder = data / "cranfield"
    if not (folder / "docs.jsonl").exists():
        print(f"search: no Cranfield collection in {folder}; nothing is measured")
        return
    abstracts, questions = read_collection(folder)
    pages = _compose_pages(abstracts)
    with tempfile.TemporaryDirectory() as databases, run_postgres() as server:
        root = Path(databases)
        await bench_ranking(root, server, abstracts, questions)
        await _bench_cost(root, pages[:TIMED_PAGES])
        await _bench_speed(f"sqlite:///{root / 'speed.db'}", "SQLite", pages, questions)
        url = await asyncio.to_thread(server.create_database)
        await _bench_speed(url, "PostgreSQL", pages, questions)


async def bench_ranking(
    root: Path,
    server: PostgresServer,
    abstracts: list[Abstract],
    questions: list[Question],
    embedder: Embedder | None = None,
) -> None:
    """Print how well each database ranks, by its words and by what an embedder makes of them."""
    postgresql = await asyncio.to_thread(server.create_database)
    for name, url, bar in (
        ("SQLite", f"sqlite:///{root / 'ranking.db'}", BAR_SQLITE),
        ("PostgreSQL", postgresql, BAR_POSTGRESQL),
    ):
        gain = await _measure_gain(url, embedder, abstracts, questions)
        what = f"search, Cranfield, {name}{', with embeddings' if embedder else ''}"
        print(f"{what}: nDCG@{TOP} {gain:.3f} (bar {BAR_EMBEDDINGS if embedder else bar})")


async def _measure_gain(
    url: str, embedder: Embedder | None, abstracts: list[Abstract], questions: list[Question]
) -> float:
    async with _open(url, embedder) as store:
        await _save_all(store, [_document(each.id, each) for each in abstracts])
        gains = []
        for question in questions:
            query = IndexQuery(text=question.text, caller="bench", limit=TOP)
            found = await store.index.search(query)
            ids = [page.url.rpartition("/")[2] for page in found]
            gains.append(_gain(ids, question.relevant))
    return statistics.mean(gains)


def _gain(ids: Sequence[str], relevant: Mapping[str, int]) -> float:
    """Return the normalised discounted cumulative gain, grades taken as they are."""
    best = sorted(relevant.values(), reverse=True)[:TOP]
    ideal = _discounted(best)
    return _discounted([relevant.get(each, 0) for each in ids]) / ideal if ideal else 0.0


def _discounted(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(place + 2) for place, grade in enumerate(grades))


async def _bench_cost(root: Path, pages: list[Abstract]) -> None:
    """Save pages twice: as they are, and under a verdict that keeps them from the index."""
    indexed = await _cpu_of_saving(root / "indexed.db", pages, VerdictKind.OK)
    bare = await _cpu_of_saving(root / "bare.db", pages, VerdictKind.PAYWALL)
    cost = (indexed - bare) / len(pages) * 1000
    print(
        f"search, index cost of a page of {PAGE_CHARS // 1000} KB of text, SQLite: {cost:.2f} ms "
        f"CPU (bar {BAR_INDEX_MS}), beside {bare / len(pages) * 1000:.2f} ms for saving it"
    )


async def _cpu_of_saving(path: Path, pages: list[Abstract], verdict: VerdictKind) -> float:
    documents = [_document(page.id, page, verdict) for page in pages]
    async with _open(f"sqlite:///{path}", None) as store:
        started = time.process_time()
        await _save_all(store, documents)
        return time.process_time() - started


async def _bench_speed(
    url: str, name: str, pages: list[Abstract], questions: list[Question]
) -> None:
    async with _open(url, None) as store:
        await _save_all(store, [_document(page.id, page) for page in pages])
        times = []
        for question in questions:
            query = IndexQuery(text=question.text, caller="bench", limit=TOP)
            started = time.perf_counter()
            await store.index.search(query)
            times.append((time.perf_counter() - started) * 1000)
    median, slow = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    bar = f" (bar {BAR_QUERY_MS})" if name == "SQLite" else ""
    print(
        f"search, query at {len(pages)} pages of {PAGE_CHARS // 1000} KB, {name}: "
        f"median {median:.1f} ms{bar}, 95th percentile {slow:.1f} ms"
    )


def read_collection(folder: Path) -> tuple[list[Abstract], list[Question]]:
    """Return the documents and queries of the Cranfield collection."""
    lines = (folder / "docs.jsonl").read_text().splitlines()
    # Each text begins with its title, which a page has apart.
    abstracts = [
        Abstract(each["id"], each["title"], each["text"].removeprefix(each["title"]).strip())
        for each in map(json.loads, lines)
    ]
    lines = (folder / "queries.jsonl").read_text().splitlines()
    questions = [Question(each["query"], each["relevant"]) for each in map(json.loads, lines)]
    return abstracts, questions


def _compose_pages(abstracts: list[Abstract]) -> list[Abstract]:
    """Return pages of about 3 KB, each of some abstracts: words are commoner than on the web."""
    chance = random.Random(_SEED)
    pages = []
    for number in range(PAGES):
        parts = chance.sample(abstracts, 6)
        text = "\n\n".join(part.text for part in parts)[:PAGE_CHARS]
        pages.append(Abstract(str(number), parts[0].title, text))
    return pages


def _document(name: str, page: Abstract, verdict: VerdictKind = VerdictKind.OK) -> Document:
    url = f"https://bench.example/{name}"
    return Document(
        url=url,
        final_url=url,
        status_code=200,
        source=FetchSource.NATIVE,
        strategy="static",
        content_type="text/html",
        scraped_at=datetime.now(UTC),
        load_time_ms=1,
        content=Extraction(markdown=page.text, metadata=PageMetadata(title=page.title)),
        verdict=Verdict(verdict),
    )


async def _save_all(store: Store, documents: Sequence[Document]) -> None:
    expires = datetime.now(UTC) + timedelta(days=1)
    for start in range(0, len(documents), _AT_ONCE):
        async with asyncio.TaskGroup() as tasks:
            for document in documents[start : start + _AT_ONCE]:
                key = EntryKey(cache_key=document.url, options={}, owner=None, expires_at=expires)
                tasks.create_task(store.save(document, key))


def _open(url: str, embedder: Embedder | None) -> Store:
    return open_store(url, pool_size=4, observe=lambda _name, _seconds: None, embedder=embedder)
