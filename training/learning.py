"""Learns the scorer from labelled pages and writes it down as the package reads it."""

import gzip
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np

from cinder.html.main_content.blocks import CueWeights
from cinder.html.main_content.features import PageFeatures
from cinder.html.main_content.scorer import CUES_FILE, TREES_FILE
from training.cue_weights import learn_cue_weights
from training.folds import fold_of
from training.pages import LabelledPage

_ROUNDS = 80
_LEAVES_PER_TREE = 32
_PARAMETERS = {
    "objective": "cross_entropy",
    "learning_rate": 0.14,
    "num_leaves": _LEAVES_PER_TREE,
    "min_data_in_leaf": 60,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "max_bin": 127,
    "use_missing": False,
    # The same pages give the same file, on any number of processors.
    "seed": 7,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}
_CUE_FOLDS = 4
# A long page has many blocks of one make: more of them teach nothing, and take long.
_MAX_BLOCKS = 220


def learn_scorer(pages: Sequence[LabelledPage], folder: Path) -> None:
    """Write a scorer to a folder, as the package reads it."""
    pages = [page for page in pages if any(label >= 0 for label in page.labels)]
    samples = [_sample_blocks(page) for page in pages]
    rows = np.concatenate(list(_rows_without_hindsight(pages, samples)))
    labels = [
        page.labels[number] for page, some in zip(pages, samples, strict=True) for number in some
    ]
    weights = [
        page.weights[number] * sum(label >= 0 for label in page.labels) / len(some)
        for page, some in zip(pages, samples, strict=True)
        for number in some
    ]
    data = lightgbm.Dataset(rows, np.array(labels), weight=np.array(weights))
    booster = lightgbm.train(_PARAMETERS, data, num_boost_round=_ROUNDS)
    _write(booster, learn_cue_weights(pages), folder)


def _sample_blocks(page: LabelledPage) -> list[int]:
    """Return the numbers of labelled blocks of a page, at most so many, the same each time."""
    known = [number for number, label in enumerate(page.labels) if label >= 0]
    chance = random.Random(page.key)  # noqa: S311 - the same blocks each time
    return sorted(chance.sample(known, min(_MAX_BLOCKS, len(known))))


def feature_rows(
    page: LabelledPage, weights: CueWeights, numbers: Iterable[int]
) -> np.ndarray[Any, Any]:
    """Return the features of some of a page's blocks, one row for each."""
    features = PageFeatures(page.tree, page.hints, weights)
    of_page = features.of_page()
    of_parent, of_owner = cache(features.of_parent), cache(features.of_owner)
    owners = [(number, page.tree.blocks[number].owner) for number in numbers]
    return np.array(
        [
            (
                *of_page,
                *of_parent(max(page.tree.elements[owner].parent, 0)),
                *of_owner(owner),
                *features.of_block(number),
            )
            for number, owner in owners
        ]
    )


def _rows_without_hindsight(
    pages: Sequence[LabelledPage], samples: Sequence[Sequence[int]]
) -> Iterator[np.ndarray[Any, Any]]:
    """Yield each page's rows with weights of cues that were learned from other sites.

    With weights that know its own site, the forest would trust them more than new sites deserve.
    """
    weights = [
        learn_cue_weights(p for p in pages if fold_of(p.site, _CUE_FOLDS) != fold)
        for fold in range(_CUE_FOLDS)
    ]
    for page, numbers in zip(pages, samples, strict=True):
        yield feature_rows(page, weights[fold_of(page.site, _CUE_FOLDS)], numbers)


_MODULE = '''"""The learned trees, as `make train` writes them: nested conditional expressions."""

from collections.abc import Sequence


def add_leaves(row: Sequence[float]) -> float:
    """Return the sum of the leaves that a row of features reaches, one of each tree."""
    {names} = row
    return (
        {trees}
    )
'''


def _write(booster: lightgbm.Booster, cue_weights: dict[str, float], folder: Path) -> None:
    trees = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    names = ", ".join(f"f{number}" for number in range(booster.num_feature()))
    expressions = "\n        + ".join(map(write_tree, trees))
    (folder / TREES_FILE).write_text(_MODULE.format(names=names, trees=expressions))
    weights = json.dumps(cue_weights, separators=(",", ":")).encode()
    # No time in its header: the same pages give the same file.
    (folder / CUES_FILE).write_bytes(gzip.compress(weights, mtime=0))


def write_tree(node: Mapping[str, Any]) -> str:
    """Return a tree, in the shape of lightgbm's own dump, as an expression."""
    if "leaf_value" in node:
        return repr(round(node["leaf_value"], 5))
    left, right = write_tree(node["left_child"]), write_tree(node["right_child"])
    threshold = float(f"{node['threshold']:.7g}")
    return f"({left} if f{node['split_feature']} <= {threshold!r} else {right})"
