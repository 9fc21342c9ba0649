"""Finds the passages of a markdown text that answer a query.

A text is split into small passages: a term with its definition, a heading with its first paragraph,
some rows of a table. They are ranked by BM25 over their own words and over the lines that define
them: headings, terms, lead-ins.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from cinder.text.bm25 import Bm25
from cinder.text.markdown_blocks import BlockKind, MarkdownBlock
from cinder.text.outline import OutlineHeading
from cinder.text.passages import cut_block
from cinder.text.sentences import Span, plain_text
from cinder.text.terms import find_identifier_terms, find_query_terms, find_terms

# The text after these characters is not searched.
SEARCHED_CHARS = 1_000_000

_MAX_TERMS = 64
# Small passages find more in a small budget: each has its own context, and neighbours are joined.
_PASSAGE_CHARS = 350
_ITEMS_CHARS = 300
_ROWS_CHARS = 250
# A block up to this size stays whole; a longer one is cut at about `_PART_CHARS`.
_WHOLE_CHARS = 800
_PART_CHARS = 600
_HEADED_CHARS = _PASSAGE_CHARS + 200
_LEAD_CHARS = 100

_LINE_CHARS = 160
_MAX_LABEL_CHARS = 300
_MAX_TABLE_HEAD_CHARS = 500
# Of the terms and labels that a passage is beneath, the innermost.
_MAX_LINES = 3
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,}|(?:\* ){2,}\*)\s*")
_LABEL = re.compile(r"\*\*.{1,300}\*\*[;:.]?", re.DOTALL)
_TERM = re.compile(r"(?:\*\*.{1,300}?\*\*[ ,]*){1,5}")
_LIST_MARK_CHARS = 2


@dataclass(frozen=True, slots=True)
class MatchedPassage:
    """A part of a text, the section it belongs to, and the lines above that define it."""

    section: str
    start: int
    end: int
    kind: BlockKind
    block: int
    """Where the block begins that it is part of."""
    lines: tuple[Span, ...] = ()
    """The positions of the terms, labels, lead-ins and table heads that it is beneath."""
    entry: int = -1
    """Where the item or label begins that it belongs to."""
    score: float = 0.0


def find_passages(
    text: str, blocks: Sequence[MarkdownBlock], outline: Sequence[OutlineHeading], query: str
) -> list[MatchedPassage]:
    """Return the passages that match a query, the best first; none where no term of it occurs.

    Only the first `SEARCHED_CHARS` after the start of the first block are searched.
    """
    wanted = sorted(find_query_terms(query))[:_MAX_TERMS]
    splitter = _Splitter(text, outline)
    last = blocks[0].start + SEARCHED_CHARS if blocks else 0
    for block in blocks:
        if block.start >= last:
            break
        splitter.take(block)
    splitter.close()
    scored = _Ranking(text, outline, splitter.passages, wanted).score()
    return sorted(scored, key=lambda passage: (-passage.score, passage.start))


@dataclass(frozen=True, slots=True)
class _Owner:
    """A list item or label, which later blocks belong to."""

    depth: float
    start: int
    line: Span


class _Splitter:
    """Takes one block after another; a passage is open until it is full or its subject ends."""

    def __init__(self, text: str, outline: Sequence[OutlineHeading]) -> None:
        self.passages: list[MatchedPassage] = []
        self._text, self._outline = text, outline
        self._section = -1
        self._owners: list[_Owner] = []
        self._lead_in: tuple[int, Span] | None = None
        self._open: MatchedPassage | None = None
        self._parent = -1
        """The owner of the open passage's first block."""

    def take(self, block: MarkdownBlock) -> None:
        outline = self._outline
        while self._section + 1 < len(outline) and outline[self._section + 1].start <= block.start:
            self._section += 1
        if block.kind is BlockKind.HEADING:
            self._take_heading(block)
        elif _RULE.fullmatch(self._text, block.start, block.end):
            self.close()
            self._owners, self._lead_in = [], None
        else:
            self._take_content(block)

    def close(self) -> None:
        # A heading without text is in the context of the passages beneath it.
        if self._open is not None and self._open.kind is not BlockKind.HEADING:
            self.passages.append(self._open)
        self._open = None

    def _take_heading(self, block: MarkdownBlock) -> None:
        before = self._open
        self.close()
        self._owners, self._lead_in, self._parent = [], None, -1
        start = block.start
        if before is not None and before.kind is BlockKind.HEADING:
            start = before.start if block.end - before.start < _HEADED_CHARS // 2 else start
        name = self._outline[self._section].id if self._section >= 0 else ""
        self._open = MatchedPassage(name, start, block.end, block.kind, start, entry=start)

    def _take_content(self, block: MarkdownBlock) -> None:
        text = self._text
        body = text[block.start : block.end].lstrip()
        begin = block.end - len(body)
        indent = begin - max(block.start, text.rfind("\n", block.start, begin) + 1)
        is_paragraph = block.kind is BlockKind.PARAGRAPH
        is_label = (
            is_paragraph and len(body) <= _MAX_LABEL_CHARS and bool(_LABEL.fullmatch(body.rstrip()))
        )
        is_item = block.kind is BlockKind.LIST_ITEM
        # A label owns the blocks after it that are as deep as itself.
        depth = indent - 0.5 if is_label else indent
        while self._owners and self._owners[-1].depth >= depth:
            self._owners.pop()
        if self._open is not None and self._joins(block, is_owner=is_item or is_label):
            if self._open.kind is BlockKind.HEADING:
                self._open = replace(self._open, kind=block.kind, block=block.start)
                self._parent = self._owners[-1].start if self._owners else -1
            self._open = replace(self._open, end=block.end)
        else:
            self._begin(block, indent, is_owner=is_item or is_label)
        if is_item or is_label:
            self._owners.append(_Owner(depth, block.start, self._defining_line(block, begin)))
        elif is_paragraph:
            ends_open = body.rstrip().endswith(":")
            self._lead_in = (indent, self._last_sentence(block, begin)) if ends_open else None

    def _joins(self, block: MarkdownBlock, *, is_owner: bool) -> bool:
        open_ = self._open
        if open_ is None:
            return False
        size = block.end - open_.start
        # The text after a heading and a line such as "Default: 10" says what they are about.
        is_headed_line = open_.start < open_.block and open_.end - open_.block <= _LEAD_CHARS
        continues_line = is_headed_line and open_.kind is block.kind is BlockKind.PARAGRAPH
        if open_.kind is BlockKind.HEADING or continues_line:
            return size <= _HEADED_CHARS
        parent = self._owners[-1].start if self._owners else -1
        limit = _WHOLE_CHARS if block.kind is BlockKind.CODE else _PASSAGE_CHARS
        if any(owner.start == open_.block for owner in self._owners):
            return size <= limit
        if parent != self._parent:
            return False
        if open_.kind is BlockKind.LIST_ITEM:
            return block.kind is BlockKind.LIST_ITEM and size <= _ITEMS_CHARS
        return not is_owner and size <= limit

    def _begin(self, block: MarkdownBlock, indent: int, *, is_owner: bool) -> None:
        before = self._open
        self.close()
        has_heading = before is not None and before.kind is BlockKind.HEADING
        start = before.start if before is not None and has_heading else block.start
        name = self._outline[self._section].id if self._section >= 0 else ""
        parent = self._owners[-1].start if self._owners else -1
        lines = tuple(owner.line for owner in self._owners[-_MAX_LINES:])
        if self._lead_in and self._lead_in[0] == indent and block.kind is not BlockKind.PARAGRAPH:
            lines = (*lines, self._lead_in[1])
        entry = block.start if is_owner else parent
        passage = MatchedPassage(name, start, block.end, block.kind, block.start, lines, entry)
        is_table = block.kind is BlockKind.TABLE
        if block.end - block.start <= (_ROWS_CHARS if is_table else _WHOLE_CHARS):
            self._open, self._parent = passage, parent
            return
        max_chars = _ROWS_CHARS if is_table else _PART_CHARS
        searched_end = min(block.end, block.start + SEARCHED_CHARS)
        own = self._own_line(block)
        for part_start, part_end in cut_block(self._text, block, max_chars, searched_end):
            if part_start > block.start:
                passage = replace(passage, start=part_start, lines=(*passage.lines, *own))
                own = ()
            self.passages.append(replace(passage, end=part_end))

    def _own_line(self, block: MarkdownBlock) -> tuple[Span, ...]:
        """Return the position of what later parts of a block need: table head, fence or term."""
        text = self._text
        if block.kind is BlockKind.PARAGRAPH:
            return ()
        end = text.find("\n", block.start, block.end)
        if block.kind is BlockKind.TABLE:
            end = text.find("\n", end + 1, block.end)
            return ((block.start, end),) if 0 < end - block.start <= _MAX_TABLE_HEAD_CHARS else ()
        if block.kind is BlockKind.CODE:
            return ((block.start, end),) if 0 < end - block.start <= _LINE_CHARS else ()
        first = block.end - len(text[block.start : block.end].lstrip())
        return (self._defining_line(block, first),)

    def _defining_line(self, block: MarkdownBlock, first: int) -> Span:
        """Return the position of the term of an item, else of its first line; all of a label."""
        text = self._text
        if block.kind is BlockKind.PARAGRAPH:
            return first, block.end
        if term := _TERM.match(text, first + _LIST_MARK_CHARS, block.end):
            return first, term.end()
        newline = text.find("\n", first, block.end)
        return first, min(block.end if newline < 0 else newline, first + _LINE_CHARS)

    def _last_sentence(self, block: MarkdownBlock, first: int) -> Span:
        text, end = self._text, block.end
        if end - first > _LINE_CHARS:
            sentence = max(text.rfind(". ", first, end) + 2, text.rfind("\n", first, end) + 1)
            is_short = sentence > first + 1 and end - sentence <= 2 * _LINE_CHARS
            first = sentence if is_short else text.find(" ", end - _LINE_CHARS, end) + 1
            first = max(first, end - 2 * _LINE_CHARS)
        return first, end


# How much a term counts in the lines that define a passage, and in the headings above it.
_LINE_WEIGHT, _HEADING_WEIGHT = 0.8, 0.5
# How much the best of its item or label adds to a passage.
_ENTRY_SHARE = 0.25
# How much of the score depends on the share of the query that a passage covers.
_COVERAGE_SHARE = 0.5
# How much another form of a word, a word that contains it, and a synonym count.
_FORM_WEIGHT, _PART_WEIGHT, _SYNONYM_WEIGHT = 0.6, 0.5, 0.4
_MIN_COMPARED_CHARS = 4
_LONG_PREFIX_CHARS = 6

Weights = dict[str, float]


class _Ranking:
    """The terms of a query in the passages of a text, and in the lines that define them."""

    def __init__(
        self,
        text: str,
        outline: Sequence[OutlineHeading],
        passages: Sequence[MatchedPassage],
        wanted: Sequence[str],
    ) -> None:
        self._passages = passages
        # The terms of the query that a term of the text matches, and how well.
        self._matching = cache(
            lambda term: {each: fit for each in wanted if (fit := _similarity(each, term))}
        )
        terms_of = cache(lambda span: list(find_identifier_terms(plain_text(text[slice(*span)]))))
        own = [terms_of((passage.start, passage.end)) for passage in passages]
        self._lengths = [len(terms) for terms in own]
        self._found = [self._weigh(Counter(terms)) for terms in own]
        self._model = Bm25(self._found, self._lengths)
        self._whole = sum(map(self._model.rarity, wanted)) or 1.0
        headings = self._weigh_headings(outline, len(text))
        lines = cache(lambda line: self._weigh(Counter(terms_of(line))))
        for passage, found in zip(passages, self._found, strict=True):
            for line in passage.lines:
                _add(found, lines(line), _LINE_WEIGHT)
            _add(found, headings.get(passage.section, {}), 1.0)

    def score(self) -> list[MatchedPassage]:
        """Return the passages that match, with their scores."""
        entries: dict[tuple[str, int], Weights] = {}
        for passage, found in zip(self._passages, self._found, strict=True):
            best = entries.setdefault((passage.section, passage.entry), {})
            best |= {term: max(times, best.get(term, 0.0)) for term, times in found.items()}
        mean = sum(self._lengths) / (len(self._lengths) or 1)
        shares = {key: _ENTRY_SHARE * self._score(best, mean) for key, best in entries.items()}
        return [
            replace(
                passage,
                score=self._score(found, length) + shares[passage.section, passage.entry],
            )
            for passage, found, length in zip(
                self._passages, self._found, self._lengths, strict=True
            )
            if found
        ]

    def _score(self, found: Weights, length: float) -> float:
        score = covered = 0.0
        for term, times in sorted(found.items()):
            score += self._model.score(term, times, length)
            covered += self._model.rarity(term) * min(1.0, times)
        return score * (1 - _COVERAGE_SHARE + _COVERAGE_SHARE * covered / self._whole)

    def _weigh(self, counts: Mapping[str, float]) -> Weights:
        """Return how often each term of the query occurs, similar terms included."""
        found: Weights = {}
        for term, times in counts.items():
            _add(found, self._matching(term), times)
        return found

    def _weigh_headings(self, outline: Sequence[OutlineHeading], chars: int) -> dict[str, Weights]:
        """Return by section the query's terms in its heading and in those above it.

        A heading above nearly all of the text weighs little.
        """
        weights: dict[str, Weights] = {}
        above: list[tuple[int, Weights]] = []
        for heading in outline:
            while above and above[-1][0] >= heading.level:
                above.pop()
            weight = _HEADING_WEIGHT * (1 - heading.chars / (chars + 1))
            terms: dict[str, float] = dict.fromkeys(find_identifier_terms(heading.title), weight)
            weights[heading.id] = (above[-1][1] if above else {}) | self._weigh(terms)
            above.append((heading.level, weights[heading.id]))
        return weights


def _add(found: Weights, other: Mapping[str, float], weight: float) -> None:
    for term, times in other.items():
        found[term] = found.get(term, 0.0) + weight * times


def _similarity(wanted: str, term: str) -> float:
    if wanted == term:
        return 1.0
    synonym = _SYNONYM_WEIGHT if term in _synonyms().get(wanted, ()) else 0.0
    shorter, longer = sorted((len(wanted), len(term)))
    both = wanted + term
    if shorter < _MIN_COMPARED_CHARS or not (both.isascii() and both.isalpha()):
        return synonym
    pairs = enumerate(zip(wanted, term, strict=False))
    common = next((index for index, (a, b) in pairs if a != b), shorter)
    is_form = common >= max(_MIN_COMPARED_CHARS, shorter - 1, longer / 2)
    if is_form or common >= max(_LONG_PREFIX_CHARS, 0.6 * longer):
        return _FORM_WEIGHT
    return _PART_WEIGHT if wanted in term else synonym


@cache
def _synonyms() -> Mapping[str, frozenset[str]]:
    data = tomllib.loads(files("cinder.text").joinpath("query_synonyms.toml").read_text("utf-8"))
    found: dict[str, set[str]] = {}
    for group in data["groups"]:
        terms = {next(find_terms(word)) for word in group}
        for term in terms:
            found.setdefault(term, set()).update(terms)
    return {term: frozenset(others) for term, others in found.items()}
