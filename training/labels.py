"""Labels: how much of each block of a page is in the text that people took for its content."""

import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"\w+")
_GRAM = 4
_REACH = 12
UNKNOWN = -1.0


def label_blocks(texts: Sequence[str], truth: str) -> list[float]:
    """Return the share of each block that is content; `UNKNOWN` for blocks without words."""
    grams = _Grams(_WORD.findall(truth.lower()))
    blocks = [tuple(_WORD.findall(text.lower())) for text in texts]
    copies = Counter(blocks)
    seen: Counter[tuple[str, ...]] = Counter()
    labels: list[float] = []
    for words in blocks:
        seen[words] += 1
        labels.append(grams.share(words, copies=copies[words], copy=seen[words]))
    return _settle_short(blocks, labels)


class _Grams:
    """The runs of up to four words that a text has, counted."""

    def __init__(self, words: list[str]) -> None:
        self._counts = {
            size: Counter(zip(*(words[start:] for start in range(size)), strict=False))
            for size in range(1, _GRAM + 1)
        }

    def share(self, words: tuple[str, ...], *, copies: int, copy: int) -> float:
        """Return how much of a block the text has; of more copies than it has, the first count."""
        if not words:
            return UNKNOWN
        if len(words) < _GRAM:
            return min(1.0, self._counts[len(words)][words] / copies)
        known = self._counts[_GRAM]
        grams = list(zip(*(words[start:] for start in range(_GRAM)), strict=False))
        if copy > max(1, known[grams[0]]):
            return 0.0
        return sum(gram in known for gram in grams) / len(grams)


def _settle_short(blocks: Sequence[tuple[str, ...]], labels: list[float]) -> list[float]:
    """Doubt short blocks, whose words may be in the text by chance, by what stands around them."""
    settled = list(labels)
    for index, words in enumerate(blocks):
        if not 0 < len(words) < _GRAM or labels[index] <= 0:
            continue
        trust = _mean_around(blocks, labels, index)
        if labels[index] < 1:
            settled[index] *= trust
        else:
            floor = 0.3 if len(words) == 1 else 0.5
            settled[index] *= floor + (1 - floor) * trust
    return settled


def _mean_around(blocks: Sequence[tuple[str, ...]], labels: Sequence[float], index: int) -> float:
    """Return the mean label of the nearest long blocks before and after."""
    found: list[float] = []
    for others in (range(index - 1, index - _REACH, -1), range(index + 1, index + _REACH)):
        inside = (other for other in others if 0 <= other < len(blocks))
        near = next((other for other in inside if len(blocks[other]) >= _GRAM), None)
        if near is not None:
            found.append(labels[near])
    return sum(found) / len(found) if found else 0.5
