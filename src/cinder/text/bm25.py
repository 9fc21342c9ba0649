"""BM25: scores texts by the terms of a query, their rarity and the lengths of the texts."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

# The usual constants: how soon a repeated term stops counting, and how much length does.
SATURATION, LENGTH_WEIGHT = 1.2, 0.75


def inverse_frequency(texts: int, having: int) -> float:
    """Return the weight of a term that occurs in `having` of a number of texts."""
    return math.log(1 + (texts - having + 0.5) / (having + 0.5))


class Bm25:
    """The weights of terms in a collection of texts."""

    def __init__(
        self,
        found: Iterable[Iterable[str]],
        lengths: Sequence[int],
        rarity: Callable[[int, int], float] = inverse_frequency,
    ) -> None:
        """Take the query terms in each text, each once, and each text's number of terms."""
        total = len(lengths) or 1
        having = Counter(term for terms in found for term in terms)
        self._rarity = {term: rarity(total, count) for term, count in having.items()}
        self._unseen = rarity(total, 0)
        self._mean_length = sum(lengths) / total or 1.0

    def rarity(self, term: str) -> float:
        """Return the weight of a term."""
        return self._rarity.get(term, self._unseen)

    def score(self, term: str, times: float, length: float) -> float:
        """Return what a term adds to the score of a text that has it so many times."""
        relative = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length / self._mean_length
        rarity = self._rarity.get(term, self._unseen)
        return rarity * times * (SATURATION + 1) / (times + SATURATION * relative)
