"""Teaches the main-content scorer: `python -m training DATA` (or `make train DATA=...`).

DATA is a folder of labelled pages with the sub-folders `wcxb`, `aeb` and `languages`, each with
`truth.jsonl.gz` and `html/ID.html.gz`. Pages of documentation come from installed packages. The
result replaces the scorer in the package. With
`--folds DIRECTORY`, one scorer for each fold of the sites is written there instead, learned
from all other folds, and `pages.json`, which names the scorer that has not seen each page.
"""

import argparse
import json
from pathlib import Path

import cinder.html.main_content
from training.documentation import DOC_SITES
from training.folds import fold_of
from training.learning import learn_scorer
from training.pages import LabelledPage, load_pages

_FOLDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of labelled pages")
    parser.add_argument("--folds", type=Path, metavar="DIRECTORY", help="cross-validate instead")
    arguments = parser.parse_args()
    for site in DOC_SITES:
        if not site.find_pages():
            print(f"{site.package} is not installed: the scorer learns without it", flush=True)
    pages = load_pages(arguments.data)
    print(f"{len(pages)} pages, {sum(len(page.labels) for page in pages):,} blocks", flush=True)
    if arguments.folds is None:
        learn_scorer(pages, Path(cinder.html.main_content.__file__).parent)
    else:
        _write_folds(pages, arguments.folds)


def _write_folds(pages: list[LabelledPage], directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    names = {page.key: f"fold-{fold_of(page.site, _FOLDS)}" for page in pages}
    for fold in range(_FOLDS):
        others = [page for page in pages if fold_of(page.site, _FOLDS) != fold]
        folder = directory / f"fold-{fold}"
        folder.mkdir(exist_ok=True)
        learn_scorer(others, folder)
        print(f"fold {fold + 1} of {_FOLDS}: learned from {len(others)} pages", flush=True)
    (directory / "pages.json").write_text(json.dumps(names, indent=0, sort_keys=True))


main()
