"""Quorums: which of a query's terms a page must have together to be among the best."""

import math
from collections.abc import Sequence

# Of a few terms all subsets are weighed, and the expression for a quorum grows like they do.
MAX_TERMS = 8

# What is added up in another order may differ by as much.
_TOLERANCE = 1e-9


def find_quorum(weights: Sequence[float], share: float) -> float:
    """Return what terms must weigh together so that no more than a share of the pages has them.

    A weight is the logarithm of how rare its term is, and terms are taken to be independent.
    """
    subsets = [(0.0, 1.0)]
    for weight in weights[:MAX_TERMS]:
        chance = min(1.0, math.exp(-weight))
        subsets = [
            *((said, likely * (1 - chance)) for said, likely in subsets),
            *((said + weight, likely * chance) for said, likely in subsets),
        ]
    subsets.sort(reverse=True)
    enough, expected = subsets[0]
    for said, likely in subsets[1:]:
        expected += likely
        if expected > share or not said:
            break
        enough = said
    return enough


def spell_quorum(terms: Sequence[tuple[str, float]], enough: float) -> str | None:
    """Return the tsquery for pages whose terms weigh enough together; None where none can.

    The terms are given with their weights, the heaviest first.
    """
    if sum(weight for _, weight in terms) < enough - _TOLERANCE:
        return None
    (term, weight), rest = terms[0], terms[1:]
    missing = enough - weight
    # All of the terms weigh enough, so the rest does with this one.
    having = term if missing <= _TOLERANCE else f"({term} & {spell_quorum(rest, missing)})"
    without = spell_quorum(rest, enough)
    return having if without is None else f"({having} | {without})"
