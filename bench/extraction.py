"""Extraction of saved pages: main content, metadata and speed, beside others doing the same."""

import asyncio
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from bench.contestant import PEERS_PYTHON, ROOT, ContestantFailed
from bench.corpus import KINDS, Page, load_scorer, read_pages
from bench.metadata_scores import print_metadata_scores
from bench.prediction import Prediction, Predictions, read_predictions

CPU_BAR, CPU_AIM = 40, 100


@dataclass(frozen=True, slots=True)
class Extractor:
    """A contestant: the Python it runs on, its module and arguments, and what it writes."""

    name: str
    python: Path
    module: str
    arguments: tuple[str, ...] = ()
    writes_markdown: bool = True


TRAINING_PYTHON = ROOT / "training/.venv/bin/python"
PEERS = (
    Extractor("trafilatura", PEERS_PYTHON, "trafilatura"),
    Extractor("trafilatura fast", PEERS_PYTHON, "trafilatura", ("--fast",)),
    Extractor("resiliparse", PEERS_PYTHON, "resiliparse", writes_markdown=False),
    Extractor("Crawl4AI", PEERS_PYTHON, "crawl4ai"),
)
METADATA = Extractor("trafilatura", PEERS_PYTHON, "trafilatura_metadata")


async def bench_extraction(data: Path, sample: int | None) -> None:
    """Print how each contestant does on the pages of a folder, or on a sample of them."""
    if not (data / "score.py").exists():
        print(f"extraction: not measured, {data} has no pages: name their folder by DATA=")
        return
    for python in (PEERS_PYTHON, TRAINING_PYTHON):
        if not python.exists():
            print(f"extraction: not measured, {python} is missing: `make bench` installs it")
            return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await _learn_folds(data, folder)
        made = [
            (extractor, await _run(extractor, data, sample, folder))
            for extractor in (_cross_validated(folder), *PEERS, METADATA)
        ]
    pages = read_pages(data, sample)
    _print_content_scores(pages, made[:-1], load_scorer(data))
    print_metadata_scores(pages, [(each.name, said) for each, said in (made[0], made[-1])])


async def _learn_folds(data: Path, folder: Path) -> None:
    """Have cinder's scorer learn anew from all sites but those of a fold, for each fold."""
    print("extraction: learning the scorers for cross-validation takes some minutes", flush=True)
    process = await asyncio.create_subprocess_exec(
        *(str(TRAINING_PYTHON), "-m", "training", str(data), "--folds", str(folder)),
        stdout=asyncio.subprocess.DEVNULL,
        cwd=ROOT,
    )
    if await process.wait() != 0:
        raise ContestantFailed("training ended; its message stands above")


def _cross_validated(folds: Path) -> Extractor:
    return Extractor("cinder", Path(sys.executable), "cinder", ("--folds", str(folds)))


async def _run(extractor: Extractor, data: Path, sample: int | None, folder: Path) -> Predictions:
    """Have a contestant predict all pages in a process of its own."""
    out = folder / "predictions.jsonl"
    process = await asyncio.create_subprocess_exec(
        *(str(extractor.python), "-m", f"bench.extractors.{extractor.module}"),
        *(str(data), str(out), *extractor.arguments),
        *(() if sample is None else ("--sample", str(sample))),
        stdout=asyncio.subprocess.DEVNULL,
        cwd=ROOT,
        # Without it Crawl4AI writes into the home directory.
        env={**os.environ, "CRAWL4_AI_BASE_DIRECTORY": str(folder)},
    )
    if await process.wait() != 0:
        raise ContestantFailed(f"{extractor.name} ended; its message stands above")
    return read_predictions(out)


def _print_content_scores(
    pages: Sequence[Page], made: Sequence[tuple[Extractor, Predictions]], scorer: ModuleType
) -> None:
    print(
        f"extraction of {len(pages)} saved pages: F1 of the main content by page kind (words, mean "
        f"over pages), F1 on aeb (4-word shingles), and pages a second a core (bar {CPU_BAR}, aim "
        f"{CPU_AIM}); cinder is cross-validated by site"
    )
    widths = {column: max(len(column) + 2, 9) for column in (*KINDS, "all", "aeb")}
    header = "".join(f"{column:>{width}}" for column, width in widths.items())
    print(f"{'':16}{header}{'pages/s':>9}")
    for extractor, said in made:
        scores = _content_scores(pages, said.by_key, scorer, is_markdown=extractor.writes_markdown)
        cells = "".join(
            f"{scores[column]:{width}.3f}" if column in scores else f"{'-':>{width}}"
            for column, width in widths.items()
        )
        print(f"{extractor.name:16}{cells}{said.pages_per_second:9.1f}")


def _content_scores(
    pages: Sequence[Page],
    said: Mapping[str, Prediction],
    scorer: ModuleType,
    *,
    is_markdown: bool,
) -> dict[str, float]:
    """Return F1 by page kind, over `all` of wcxb, and on `aeb`, as the data defines them."""
    rows = defaultdict(list)
    for page in pages:
        text = said[page.key].text
        bag = scorer.words if page.dataset == "wcxb" else scorer.shingles
        found = scorer.overlap(bag(scorer.plain(text) if is_markdown else text), bag(page.text))
        for name in (page.kind, "all") if page.dataset == "wcxb" else ("aeb",):
            rows[name].append(found)
    return {
        name: _f1_of_means(found, scorer) if name == "aeb" else _mean_f1(found, scorer)
        for name, found in rows.items()
    }


def _mean_f1(found: Sequence[tuple[float, float]], scorer: ModuleType) -> float:
    return float(sum(scorer.f1(*each) for each in found) / len(found))


def _f1_of_means(found: Sequence[tuple[float, float]], scorer: ModuleType) -> float:
    precision, recall = (sum(column) / len(found) for column in zip(*found, strict=True))
    return float(scorer.f1(precision, recall))
