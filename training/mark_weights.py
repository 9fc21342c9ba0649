"""Learns the weights of marks: whether text below an element of a class tends to be content."""

import math
from collections import defaultdict
from collections.abc import Iterable

from training.pages import LabelledPage

_MIN_SITES = 4
_PRIOR_PAGES = 1.0
# A mark that is around this share of a page's words has half a vote.
_HALF_VOTE_SHARE = 0.03


def learn_mark_weights(pages: Iterable[LabelledPage]) -> dict[str, float]:
    """Return, for each mark that several sites use, its log odds relative to all text."""
    content, votes = defaultdict[str, float](float), defaultdict[str, float](float)
    sites = defaultdict[str, set[str]](set)
    total = total_content = 0.0
    for page in pages:
        shares, content_shares = _shares_of_marks(page)
        total += 1
        total_content += content_shares.pop("", 0.0)
        for mark, share in shares.items():
            vote = share / (share + _HALF_VOTE_SHARE)
            votes[mark] += vote
            content[mark] += vote * content_shares[mark] / share
            sites[mark].add(page.site)
    base = total_content / total
    return {
        mark: round(_log_odds(content[mark], votes[mark], base), 3)
        for mark in sorted(votes)
        if len(sites[mark]) >= _MIN_SITES
    }


def _log_odds(content: float, votes: float, base: float) -> float:
    share = (content + _PRIOR_PAGES * base) / (votes + _PRIOR_PAGES)
    return math.log(share / (1 - share)) - math.log(base / (1 - base))


def _shares_of_marks(page: LabelledPage) -> tuple[dict[str, float], dict[str, float]]:
    """Return the share of the page's words below each mark, and that of content words.

    The whole page's share of content stands under the empty mark.
    """
    shares, content = defaultdict[str, float](float), defaultdict[str, float](float)
    whole = sum(page.weights)
    marks_of: dict[int, set[str]] = {}
    for block, label, weight in zip(page.tree.blocks, page.labels, page.weights, strict=True):
        if label < 0:
            continue
        owner = block.owner
        marks = marks_of.get(owner)
        if marks is None:
            marks = marks_of[owner] = _marks_on_path(page, owner)
        content[""] += label * weight / whole
        for mark in marks:
            shares[mark] += weight / whole
            content[mark] += label * weight / whole
    return shares, content


def _marks_on_path(page: LabelledPage, index: int) -> set[str]:
    found: set[str] = set()
    while index > 0:
        element = page.tree.elements[index]
        found.update(element.marks)
        index = element.parent
    return found
