"""Learns the weights of cues: whether text below an element of a class tends to be content."""

import math
from collections import defaultdict
from collections.abc import Iterable

from training.pages import LabelledPage

_MIN_SITES = 4
_PRIOR_PAGES = 1.0
# A cue that is around this share of a page's words has half a vote.
_HALF_VOTE_SHARE = 0.03


def learn_cue_weights(pages: Iterable[LabelledPage]) -> dict[str, float]:
    """Return, for each cue that several sites use, its log odds relative to all text."""
    content, votes = defaultdict[str, float](float), defaultdict[str, float](float)
    sites = defaultdict[str, set[str]](set)
    total = total_content = 0.0
    for page in pages:
        shares, content_shares = _shares_of_cues(page)
        total += 1
        total_content += content_shares.pop("", 0.0)
        for cue, share in shares.items():
            vote = share / (share + _HALF_VOTE_SHARE)
            votes[cue] += vote
            content[cue] += vote * content_shares[cue] / share
            sites[cue].add(page.site)
    base = total_content / total
    return {
        cue: round(_log_odds(content[cue], votes[cue], base), 3)
        for cue in sorted(votes)
        if len(sites[cue]) >= _MIN_SITES
    }


def _log_odds(content: float, votes: float, base: float) -> float:
    share = (content + _PRIOR_PAGES * base) / (votes + _PRIOR_PAGES)
    return math.log(share / (1 - share)) - math.log(base / (1 - base))


def _shares_of_cues(page: LabelledPage) -> tuple[dict[str, float], dict[str, float]]:
    """Return the share of the page's words below each cue, and that of content words.

    The whole page's share of content stands under the empty cue.
    """
    shares, content = defaultdict[str, float](float), defaultdict[str, float](float)
    whole = sum(page.weights)
    cues_of: dict[int, set[str]] = {}
    for block, label, weight in zip(page.tree.blocks, page.labels, page.weights, strict=True):
        if label < 0:
            continue
        owner = block.owner
        cues = cues_of.get(owner)
        if cues is None:
            cues = cues_of[owner] = _cues_on_path(page, owner)
        content[""] += label * weight / whole
        for cue in cues:
            shares[cue] += weight / whole
            content[cue] += label * weight / whole
    return shares, content


def _cues_on_path(page: LabelledPage, index: int) -> set[str]:
    found: set[str] = set()
    while index > 0:
        element = page.tree.elements[index]
        found.update(element.cues)
        index = element.parent
    return found
