"""The saved pages that extraction is measured on, and what is true of them.

Only the standard library is imported here, since not every contestant has cinder's packages.
"""

import gzip
import importlib.util
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

DATASETS = ("wcxb", "aeb", "languages", "docs")
LANGUAGES = ("Chinese", "Greek", "Polish", "Russian")
KINDS = ("article", "service", "product", "collection", "forum", "listing", "documentation")


@dataclass(frozen=True, slots=True)
class Page:
    """A saved page and its truth; what the truth does not know is empty."""

    dataset: str
    id: str
    url: str
    kind: str
    text: str
    title: str
    author: str
    published: str
    file: Path

    @property
    def key(self) -> str:
        """A name that no page of another dataset has."""
        return f"{self.dataset}/{self.id}"

    def read_body(self) -> bytes:
        """Return the page as its server sent it."""
        return gzip.decompress(self.file.read_bytes())


def read_pages(data: Path, sample: int | None, datasets: Sequence[str] = DATASETS) -> list[Page]:
    """Return all pages, or as many as the sample is large, the same ones each time."""
    folders = [data / dataset for dataset in datasets if (data / dataset).exists()]
    pages = [page for folder in folders for page in _read_dataset(folder)]
    return pages if sample is None else random.Random(0).sample(pages, min(sample, len(pages)))


def _read_dataset(folder: Path) -> Iterator[Page]:
    with gzip.open(folder / "truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        for truth in map(json.loads, lines):
            yield Page(
                dataset=folder.name,
                id=truth["id"],
                url=truth["url"] or "",
                kind=truth.get("language") or truth.get("type", "article"),
                text=truth["text"] or "",
                title=truth.get("title") or "",
                author=truth.get("author") or "",
                published=truth.get("published") or "",
                file=folder / "html" / f"{truth['id']}.html.gz",
            )


def load_scorer(data: Path) -> ModuleType:
    """Return the data's own definition of a score, `score.py`."""
    spec = importlib.util.spec_from_file_location("score", data / "score.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"{data / 'score.py'} cannot be loaded")
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    return scorer
