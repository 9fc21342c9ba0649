"""Summarises a page without a model: selects its most central sentences."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from cinder.text.markdown_blocks import BlockKind, MarkdownBlock
from cinder.text.sentences import (
    CLOSING_MARKS,
    ENDS,
    UNSPACED_CLOSING_MARKS,
    UNSPACED_ENDS,
    find_sentences,
    linked_chars,
    plain_text,
)
from cinder.text.terms import find_terms

# How the summary was made.
EXTRACTIVE = "extractive"

_FEWEST, _MOST = 3, 7
# The summary has one sentence for so many of the text.
_SENTENCES_FOR_ONE = 6
# The text beyond these limits is not read.
_READ_CHARS, _READ_SENTENCES, _GOOD_SENTENCES = 500_000, 4_000, 800
_CANDIDATES = 60
_MIN_TERMS, _MAX_SENTENCE_CHARS = 5, 400
_MAX_LINKED_SHARE = 0.5
_CENTRALITY, _POSITION, _TOPIC = 0.55, 0.3, 0.15
# How much a sentence loses for its similarity to one already chosen.
_REPETITION = 0.5
_UNSPACED = UNSPACED_ENDS + UNSPACED_CLOSING_MARKS

Vector = dict[str, float]


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary, how it was made, and the positions of its sentences in the markdown."""

    text: str
    method: str
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    start: int
    end: int
    paragraph: int


def summarize(markdown: str, blocks: Sequence[MarkdownBlock]) -> Summary:
    """Return three to seven sentences of a text; fewer where it has no more, possibly none."""
    prose = _read_sentences(markdown, blocks, BlockKind.PARAGRAPH)
    sentences = prose or _read_sentences(markdown, blocks, BlockKind.LIST_ITEM)
    wanted = min(_MOST, max(_FEWEST, len(sentences) // _SENTENCES_FOR_ONE))
    if len(sentences) > wanted:
        # The first heading names the topic of the page.
        title = next((block.title for block in blocks if block.kind is BlockKind.HEADING), "")
        topic = set(find_terms(plain_text(title[:_MAX_SENTENCE_CHARS])))
        counts = [Counter(find_terms(sentence.text)) for sentence in sentences]
        having = Counter(term for count in counts for term in count)
        # Each sentence's terms, weighed by their rarity.
        vectors = [
            _normalise(
                {term: n * math.log(1 + len(counts) / having[term]) for term, n in count.items()}
            )
            for count in counts
        ]
        total: defaultdict[str, float] = defaultdict(float)
        for vector in vectors:
            for term, weight in vector.items():
                total[term] += weight
        centre = _normalise(total)
        scores = [
            _CENTRALITY * _similarity(vector, centre)
            + _POSITION / (1 + sentence.paragraph)
            + _TOPIC * len(topic & vector.keys()) / (len(topic) or 1)
            for sentence, vector in zip(sentences, vectors, strict=True)
        ]
        best = sorted(range(len(sentences)), key=lambda i: (-scores[i], i))[:_CANDIDATES]
        chosen: list[int] = []
        repeated = dict.fromkeys(best, 0.0)
        while repeated and len(chosen) < wanted:
            pick = max(repeated, key=lambda i: (scores[i] - _REPETITION * repeated[i], -i))
            chosen.append(pick)
            del repeated[pick]
            for i in repeated:
                repeated[i] = max(repeated[i], _similarity(vectors[i], vectors[pick]))
        sentences = [sentences[i] for i in sorted(chosen)]
    text = ""
    for sentence in sentences:
        gap = "" if not text or text.endswith(tuple(_UNSPACED)) else " "
        text += gap + sentence.text
    return Summary(text, EXTRACTIVE, tuple((each.start, each.end) for each in sentences))


def _read_sentences(
    markdown: str, blocks: Sequence[MarkdownBlock], kind: BlockKind
) -> list[_Sentence]:
    """Return the usable sentences in blocks of a kind: whole, not too long, not mostly links."""
    chosen = (block for block in blocks if block.kind is kind and block.start < _READ_CHARS)
    places = (
        (number, start, end)
        for number, block in enumerate(chosen)
        for start, end in find_sentences(markdown, block.start, min(block.end, _READ_CHARS))
    )
    found: list[_Sentence] = []
    for paragraph, start, end in islice(places, _READ_SENTENCES):
        source = markdown[start:end]
        if len(source) > _MAX_SENTENCE_CHARS:
            continue
        text = plain_text(source.removeprefix("- "))
        is_linked = linked_chars(source) > _MAX_LINKED_SHARE * len(text)
        is_whole = text.endswith(tuple(ENDS + CLOSING_MARKS + _UNSPACED))
        if is_whole and not is_linked and len(set(find_terms(text))) >= _MIN_TERMS:
            found.append(_Sentence(text, start, end, paragraph))
            if len(found) == _GOOD_SENTENCES:
                break
    return found


def _normalise(vector: Vector) -> Vector:
    """Scale a vector to a length of one."""
    length = math.sqrt(sum(weight * weight for weight in vector.values())) or 1.0
    return {term: weight / length for term, weight in vector.items()}


def _similarity(a: Vector, b: Vector) -> float:
    return sum(weight * b[term] for term, weight in a.items() if term in b)
