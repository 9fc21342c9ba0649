"""Summarises a page without a model: selects its most central sentences."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
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

# How the summary was made; a model will be another way.
EXTRACTIVE = "extractive"

_FEWEST, _MOST = 3, 7
# One sentence of the summary for so many of the text.
_SENTENCES_FOR_ONE = 6
# What lies beyond is not read, and repetition is looked for among the best sentences.
_READ_CHARS, _READ_SENTENCES, _GOOD_SENTENCES = 500_000, 4_000, 800
_CANDIDATES = 60
_MIN_TERMS, _MAX_SENTENCE_CHARS = 5, 400
_MAX_LINKED_SHARE = 0.5
_CENTRALITY, _POSITION, _TOPIC = 0.55, 0.3, 0.15
# How much a sentence loses for saying again what a chosen one says.
_REPETITION = 0.5
_UNSPACED = UNSPACED_ENDS + UNSPACED_CLOSING_MARKS

Vector = dict[str, float]


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary, how it was made, and where its sentences stand in the markdown."""

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
    """Return three to seven sentences of a text; fewer where it has no more, maybe none."""
    sentences = list(islice(_read_sentences(markdown, blocks), _GOOD_SENTENCES))
    wanted = min(_MOST, max(_FEWEST, len(sentences) // _SENTENCES_FOR_ONE))
    if len(sentences) > wanted:
        sentences = _choose(sentences, _topic(blocks), wanted)
    places = tuple((sentence.start, sentence.end) for sentence in sentences)
    return Summary(_join([sentence.text for sentence in sentences]), EXTRACTIVE, places)


def _read_sentences(markdown: str, blocks: Sequence[MarkdownBlock]) -> Iterator[_Sentence]:
    """Yield the sentences worth saying: of paragraphs, or of lists where there are none."""
    has_prose = False
    for kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM):
        for paragraph, start, end in islice(_places(markdown, blocks, kind), _READ_SENTENCES):
            text = _usable_sentence(markdown[start:end])
            if text and not (has_prose and kind is BlockKind.LIST_ITEM):
                has_prose = has_prose or kind is BlockKind.PARAGRAPH
                yield _Sentence(text, start, end, paragraph)


def _places(
    markdown: str, blocks: Sequence[MarkdownBlock], kind: BlockKind
) -> Iterator[tuple[int, int, int]]:
    chosen = (block for block in blocks if block.kind is kind and block.start < _READ_CHARS)
    for number, block in enumerate(chosen):
        for start, end in find_sentences(markdown, block.start, min(block.end, _READ_CHARS)):
            yield number, start, end


def _usable_sentence(source: str) -> str | None:
    """Return a sentence as plain text; None where it is a scrap, a list of links or too long."""
    if len(source) > _MAX_SENTENCE_CHARS:
        return None
    text = plain_text(source.removeprefix("- "))
    is_linked = linked_chars(source) > _MAX_LINKED_SHARE * len(text)
    is_whole = text.endswith(tuple(ENDS + CLOSING_MARKS + _UNSPACED))
    is_said = is_whole and not is_linked and len(set(find_terms(text))) >= _MIN_TERMS
    return text if is_said else None


def _topic(blocks: Sequence[MarkdownBlock]) -> set[str]:
    """Return the terms of the first heading: what the page says it is about."""
    title = next((block.title for block in blocks if block.kind is BlockKind.HEADING), "")
    return set(find_terms(plain_text(title[:_MAX_SENTENCE_CHARS])))


def _choose(sentences: Sequence[_Sentence], topic: set[str], wanted: int) -> list[_Sentence]:
    vectors = _weigh([Counter(find_terms(sentence.text)) for sentence in sentences])
    centre = _centre(vectors)
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
    return [sentences[i] for i in sorted(chosen)]


def _weigh(counts: Sequence[Counter[str]]) -> list[Vector]:
    """Return each sentence's terms weighed by their rarity, as a vector of length one."""
    having = Counter(term for count in counts for term in count)
    vectors = []
    for count in counts:
        raw = {
            term: times * math.log(1 + len(counts) / having[term]) for term, times in count.items()
        }
        length = math.sqrt(sum(weight * weight for weight in raw.values())) or 1.0
        vectors.append({term: weight / length for term, weight in raw.items()})
    return vectors


def _centre(vectors: Sequence[Vector]) -> Vector:
    centre: defaultdict[str, float] = defaultdict(float)
    for vector in vectors:
        for term, weight in vector.items():
            centre[term] += weight
    length = math.sqrt(sum(weight * weight for weight in centre.values())) or 1.0
    return {term: weight / length for term, weight in centre.items()}


def _similarity(a: Vector, b: Vector) -> float:
    return sum(weight * b[term] for term, weight in a.items() if term in b)


def _join(texts: Sequence[str]) -> str:
    joined = ""
    for text in texts:
        gap = "" if not joined or joined.endswith(tuple(_UNSPACED)) else " "
        joined += gap + text
    return joined
