"""Documentation as Debian packages it: how much of each site's own content element is kept."""

import gzip
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from bench.corpus import load_scorer
from bench.documentation import install_doc_sites
from bench.extraction import DEFUDDLE, TRAFILATURA, Extractor, run_extractor
from bench.prediction import Predictions
from training.documentation import DOC_SITES, DocSite

# Below the bar are pages whose lists a script shows (sqlite/docs), search forms without a page
# (search), short contents beside few words (chapters of postgresql) and listings full of
# `<Article: …>`, which the score takes for markup.
BAR_PAGE, BAR_MEAN = 0.8, 0.985
_LOW = 0.5
_LISTED = 40

CONTESTANTS = (
    Extractor("cinder", Path(sys.executable), "cinder"),
    TRAFILATURA,
    DEFUDDLE,
)


@dataclass(frozen=True, slots=True)
class DocPage:
    """A page of documentation, and the words of its content element."""

    key: str
    site: str
    words: Counter[str]


async def bench_docs(data: Path, sample: int | None) -> None:
    """Print the word recall of every page, beside others reading the same pages."""
    if not (data / "score.py").exists():
        print(f"docs: not measured, {data} has no score.py: name its folder by DATA=")
        return
    sites = install_doc_sites()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scorer = load_scorer(data)
        pages = [page for site in sites for page in _collect(site, folder / "docs", sample, scorer)]
        _write_truth(folder / "docs", pages)
        print(f"docs: {len(pages)} pages of {', '.join(site.name for site in sites)}", flush=True)
        for extractor in CONTESTANTS:
            if not extractor.program.exists():
                print(f"docs: {extractor.name} is not installed: `make bench` installs it")
                continue
            said = await run_extractor(extractor, folder, None, folder)
            _print_recall(extractor, pages, said, scorer)


def _collect(site: DocSite, folder: Path, sample: int | None, scorer: ModuleType) -> list[DocPage]:
    """Copy a site's pages to a folder as saved pages are stored."""
    (folder / "html").mkdir(parents=True, exist_ok=True)
    paths = site.find_pages()
    step = 1 if sample is None else max(1, len(paths) * len(DOC_SITES) // sample)
    pages = []
    for path in paths[::step]:
        body = path.read_bytes()
        name = f"{site.name}_{path.relative_to(site.folder)}".replace("/", "_")
        (folder / "html" / f"{name}.html.gz").write_bytes(gzip.compress(body, 1))
        words = scorer.words(site.read_truth(body.decode("utf-8", "replace")))
        if words:
            pages.append(DocPage(f"docs/{name}", site.name, words))
    return pages


def _write_truth(folder: Path, pages: Sequence[DocPage]) -> None:
    rows = (
        {"id": page.key.removeprefix("docs/"), "url": f"http://{page.site}.example/", "text": ""}
        for page in pages
    )
    text = "\n".join(map(json.dumps, rows))
    (folder / "truth.jsonl.gz").write_bytes(gzip.compress(text.encode()))


def _print_recall(
    extractor: Extractor, pages: Sequence[DocPage], said: Predictions, scorer: ModuleType
) -> None:
    recalls: dict[str, float] = {}
    for page in pages:
        found = scorer.words(scorer.plain(said.by_key[page.key].text))
        recalls[page.key] = scorer.overlap(found, page.words)[1]
    print(f"docs, {extractor.name}: {_summarize(recalls.values())}", flush=True)
    for site in dict.fromkeys(page.site for page in pages):
        print(f"    {site:12}{_summarize([recalls[p.key] for p in pages if p.site == site])}")
    if extractor.name != "cinder":
        return
    low = sorted((recall, key) for key, recall in recalls.items() if recall < BAR_PAGE)
    for recall, key in low[:_LISTED]:
        print(f"    {recall:.2f} {key} (kept share {said.by_key[key].kept_share})")
    silent = [key for _, key in low if recalls[key] < _LOW and said.by_key[key].kept_share >= _LOW]
    print(f"    below .5 without the warning: {len(silent)} {', '.join(silent[:_LISTED])}")


def _summarize(recalls: Collection[float]) -> str:
    mean = sum(recalls) / len(recalls)
    below = sum(recall < BAR_PAGE for recall in recalls)
    return (
        f"mean word recall {mean:.4f} (bar {BAR_MEAN}), lowest {min(recalls):.2f}, below "
        f"{BAR_PAGE}: {below} of {len(recalls)}"
    )
