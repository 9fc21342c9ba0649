"""`python -m bench.embeddings DATA`: how well the local index ranks where meaning counts, too."""

import asyncio
import sys
import tempfile
from pathlib import Path

from bench.search import bench_ranking, read_collection
from cinder.store.index.embeddings import find_embedder
from tests.store.postgres import run_postgres


async def main(data: Path) -> None:
    folder = data / "cranfield"
    if not (folder / "docs.jsonl").exists():
        print(f"search with embeddings: no Cranfield collection in {folder}; nothing is measured")
        return
    embedder = find_embedder()
    if embedder is None:
        sys.exit("The extra cinder-web[embeddings] is not installed: use `make bench ONLY=search`.")
    with tempfile.TemporaryDirectory() as databases, run_postgres() as server:
        await bench_ranking(Path(databases), server, *read_collection(folder), embedder)


asyncio.run(main(Path(sys.argv[1])))
