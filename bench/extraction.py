"""Extraction of saved pages: main content, metadata and speed, beside others doing the same."""

import asyncio
import os
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from types import ModuleType

from bench.contestant import PEERS_PYTHON, ROOT, ContestantFailed
from bench.corpus import KINDS, LANGUAGES, Page, load_scorer, read_pages
from bench.documentation import install_doc_sites
from bench.head_scores import print_head_scores
from bench.metadata_scores import print_metadata_scores
from bench.prediction import Predictions, read_predictions

CPU_BAR, CPU_AIM = 40, 100
COLUMNS = (*KINDS, "all", "aeb", *LANGUAGES, "languages")
# The title that markdown begins with.
_TITLE_LINE = re.compile(r"# (.*)(?:\n|$)")
_DECLARED_TITLE = re.compile(
    r"<meta\b[^>]*\bproperty=[\"']?og:title[\"']?[^>]*\bcontent=\"([^\"]+)\"", re.IGNORECASE
)
_MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]+")


@dataclass(frozen=True, slots=True)
class Extractor:
    """A contestant: the program that runs it, its module and arguments, and what it writes."""

    name: str
    program: Path
    module: str
    """A module of `bench.extractors`, or a script for Node.js."""
    arguments: tuple[str, ...] = ()
    writes_markdown: bool = True


TRAINING_PYTHON = ROOT / "training/.venv/bin/python"
PEERS_NODE = ROOT / "bench/peers/node_modules/.bin/node"
TRAFILATURA = Extractor("trafilatura", PEERS_PYTHON, "trafilatura")
DEFUDDLE = Extractor("defuddle", PEERS_NODE, "defuddle.mjs")
TRAFILATURA_FAST = Extractor("trafilatura fast", PEERS_PYTHON, "trafilatura", ("--fast",))
RESILIPARSE = Extractor("resiliparse", PEERS_PYTHON, "resiliparse", writes_markdown=False)
PEERS = (
    TRAFILATURA,
    TRAFILATURA_FAST,
    RESILIPARSE,
    Extractor("readability", PEERS_PYTHON, "readability", writes_markdown=False),
    Extractor("Crawl4AI", PEERS_PYTHON, "crawl4ai"),
)
ALL_BUT_CHROME = Extractor("all but chrome", Path(sys.executable), "cinder", ("--whole",))
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
            (extractor, await run_extractor(extractor, data, sample, folder))
            for extractor in (_cross_validated(folder), ALL_BUT_CHROME, *PEERS, METADATA)
        ]
    pages = read_pages(data, sample)
    _print_content_scores(pages, made[:-1], load_scorer(data))
    print_head_scores(pages, made[0][1])
    print_metadata_scores(pages, [(each.name, said) for each, said in (made[0], made[-1])])


async def _learn_folds(data: Path, folder: Path) -> None:
    """Have cinder's scorer learn anew from all sites but those of a fold, for each fold."""
    # It learns from documentation as well.
    install_doc_sites()
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


async def run_extractor(
    extractor: Extractor, data: Path, sample: int | None, folder: Path, dataset: str | None = None
) -> Predictions:
    """Have a contestant predict all pages, or those of one dataset, in a process of its own."""
    out = folder / "predictions.jsonl"
    is_script = extractor.module.endswith(".mjs")
    script = (str(ROOT / "bench/extractors" / extractor.module),)
    module = ("-m", f"bench.extractors.{extractor.module}")
    process = await asyncio.create_subprocess_exec(
        *(str(extractor.program), *(script if is_script else module)),
        *(str(data), str(out), *extractor.arguments),
        *(() if sample is None else ("--sample", str(sample))),
        *(() if dataset is None else ("--dataset", dataset)),
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
        f"over pages), F1 on aeb (4-word shingles), by language, and pages a second a core (bar "
        f"{CPU_BAR}, aim {CPU_AIM}); cinder is cross-validated by site"
    )
    widths = {column: max(len(column) + 2, 9) for column in COLUMNS}
    for with_title in (False, True):
        header = "".join(f"{column:>{width}}" for column, width in widths.items())
        print(f"{'with titles' if with_title else 'without titles':16}{header}{'pages/s':>9}")
        for extractor, said in made:
            scores = _content_scores(pages, (extractor, said), scorer, with_title=with_title)
            cells = "".join(
                f"{scores[column]:{width}.3f}" if column in scores else f"{'-':>{width}}"
                for column, width in widths.items()
            )
            print(f"{extractor.name:16}{cells}{said.pages_per_second:9.1f}")


def _content_scores(
    pages: Sequence[Page],
    made: tuple[Extractor, Predictions],
    scorer: ModuleType,
    *,
    with_title: bool,
) -> dict[str, float]:
    """Return F1 by page kind, over `all` of wcxb, by language, and on `aeb`.

    A title that a page shows is left out of text and truth, or is in both.
    """
    extractor, said = made
    rows = defaultdict(list)
    for page in pages:
        text, truth = said.by_key[page.key].text, page.text
        if with_title and (shown := _shown_title(page)):
            truth = f"{shown}\n{truth}"
        elif not with_title and (title := _TITLE_LINE.match(text)):
            text, truth = text[title.end() :], _without_line(truth, title[1])
        text = scorer.plain(text) if extractor.writes_markdown else text
        bag = {"wcxb": scorer.words, "aeb": scorer.shingles}.get(page.dataset, _bag_of_any_script)
        whole = {"wcxb": "all"}.get(page.dataset, page.dataset)
        for name in {page.kind if page.dataset != "aeb" else whole, whole}:
            rows[name].append(scorer.overlap(bag(text), bag(truth)))
    return {
        name: _f1_of_means(found, scorer) if name == "aeb" else _mean_f1(found, scorer)
        for name, found in rows.items()
    }


def _shown_title(page: Page) -> str:
    """Return the title that a page shows and its truth leaves out, or nothing."""
    head, _, body = page.read_body().decode("utf-8", "replace").partition("</head>")
    title = page.title
    if page.dataset == "aeb" and (declared := _DECLARED_TITLE.search(head)):
        # The truth of these articles has no titles at all.
        title = unescape(declared[1])
    words = " ".join(_TOKEN.findall(title.lower()))
    if not words or " ".join(_TOKEN.findall(page.text.lower()[: 2 * len(title)])) == words:
        return ""
    shown = " ".join(_TOKEN.findall(unescape(_MARKUP.sub(" ", body)).lower()))
    return title if words in shown else ""


def _without_line(text: str, title: str) -> str:
    """Return a text without the first of its lines that has just the words of a title."""
    words, lines = _TOKEN.findall(title.lower()), text.splitlines()
    same = (number for number, line in enumerate(lines) if _TOKEN.findall(line.lower()) == words)
    number = next(same, len(lines))
    return "\n".join(lines[:number] + lines[number + 1 :])


def _bag_of_any_script(text: str) -> Counter[str]:
    """Return words, and each character of Chinese and Japanese, which have no spaces."""
    return Counter(_TOKEN.findall(text.lower()))


def _mean_f1(found: Sequence[tuple[float, float]], scorer: ModuleType) -> float:
    return float(sum(scorer.f1(*each) for each in found) / len(found))


def _f1_of_means(found: Sequence[tuple[float, float]], scorer: ModuleType) -> float:
    precision, recall = (sum(column) / len(found) for column in zip(*found, strict=True))
    return float(scorer.f1(precision, recall))
