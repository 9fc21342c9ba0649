"""Learns the scorer from labelled pages and writes it down as the package reads it."""

import gzip
import json
from collections.abc import Iterator, Sequence
from typing import Any

import lightgbm
import numpy as np

from cinder.html.main_content.blocks import CueWeights
from cinder.html.main_content.features import PageFeatures
from cinder.html.main_content.scorer import LEAVES_PER_TREE
from training.cue_weights import learn_cue_weights
from training.folds import fold_of
from training.pages import LabelledPage

_ROUNDS = 80
_PARAMETERS = {
    "objective": "cross_entropy",
    "learning_rate": 0.14,
    "num_leaves": LEAVES_PER_TREE,
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


def learn_scorer(pages: Sequence[LabelledPage]) -> bytes:
    """Return a scorer's file."""
    rows = np.concatenate(list(_rows_without_hindsight(pages)))
    labels = np.concatenate([page.labels for page in pages])
    weights = np.concatenate([page.weights for page in pages])
    known = labels >= 0
    data = lightgbm.Dataset(rows[known], labels[known], weight=weights[known])
    booster = lightgbm.train(_PARAMETERS, data, num_boost_round=_ROUNDS)
    return _encode(booster, learn_cue_weights(pages))


def feature_rows(page: LabelledPage, weights: CueWeights) -> np.ndarray[Any, Any]:
    """Return the features of a page's blocks, one row for each."""
    features = PageFeatures(page.tree, page.hints, weights)
    of_page = features.of_page()
    return np.array(
        [
            (
                *of_page,
                *features.of_parent(max(page.tree.elements[block.owner].parent, 0)),
                *features.of_owner(block.owner),
                *features.of_block(number),
            )
            for number, block in enumerate(page.tree.blocks)
        ]
    )


def _rows_without_hindsight(pages: Sequence[LabelledPage]) -> Iterator[np.ndarray[Any, Any]]:
    """Yield each page's rows with weights of cues that were learned from other sites.

    With weights that know its own site, the forest would trust them more than new sites deserve.
    """
    weights = [
        learn_cue_weights(p for p in pages if fold_of(p.site, _CUE_FOLDS) != fold)
        for fold in range(_CUE_FOLDS)
    ]
    for page in pages:
        yield feature_rows(page, weights[fold_of(page.site, _CUE_FOLDS)])


def _encode(booster: lightgbm.Booster, cue_weights: dict[str, float]) -> bytes:
    splits: list[tuple[int, int, float, int, int]] = []
    leaves: list[list[float]] = []
    for number, tree in enumerate(booster.dump_model()["tree_info"]):
        values: list[float] = []
        _collect(tree["tree_structure"], number, splits, values)
        leaves.append(values)
    learned = {
        "features": booster.num_feature(),
        "cues": cue_weights,
        "splits": splits,
        "leaves": leaves,
    }
    text = json.dumps(learned, separators=(",", ":"))
    return gzip.compress(text.encode(), mtime=0)


def _collect(
    node: dict[str, Any],  # the shape of lightgbm's own dump
    tree: int,
    splits: list[tuple[int, int, float, int, int]],
    values: list[float],
) -> None:
    """Number the leaves below a node from the left, and note what each split rules out."""
    if "leaf_value" in node:
        values.append(round(node["leaf_value"], 5))
        return
    first = len(values)
    _collect(node["left_child"], tree, splits, values)
    threshold = float(f"{node['threshold']:.7g}")
    splits.append((tree, node["split_feature"], threshold, first, len(values)))
    _collect(node["right_child"], tree, splits, values)
