"""What markdown offers where there is no HTML: labelled lines, tables, headings, lists."""

import re
from collections.abc import Iterator, Sequence

from cinder.extract.fields.candidates import Candidate, CandidateList, Group, Thing
from cinder.extract.fields.gathering import GatheredPage
from cinder.extract.fields.labels import is_label, labelled_parts, without_colon
from cinder.extract.fields.words import words_of
from cinder.extract.html_tree import parse_address
from cinder.extract.reading.inline_text import plain_text
from cinder.model.extracted_data import Method

MAX_LINES = 50_000
_MAX_LINE_CHARS = 2_000
_MAX_ROWS = 1_000
_PAIR = 2
_RULE = re.compile(r"\|?\s{0,9}:?-{2,99}:?\s{0,9}(?:\|[\s:|-]{0,999})?\Z")
_HEADING = re.compile(r"(#{1,6})\s+(\S.*)")
_ITEM = re.compile(r"\s{0,20}(?:[-*+]|\d{1,4}[.)])\s+(\S.*)")
_CELL = re.compile(r"(?<!\\)\|")


def gather_markdown(markdown: str, url: str) -> GatheredPage:
    """Gather what the lines of a markdown text say."""
    lines = [line[:_MAX_LINE_CHARS] for line in markdown.split("\n")[:MAX_LINES]]
    found: list[Candidate] = []
    lists: list[CandidateList] = []
    groups: list[Group] = []
    for heading, block in _blocks(lines):
        if _is_table(block):
            cells, records = _read_table(block)
            found += cells
            groups += [Group(records=tuple(records), label=words_of(heading), said=heading)]
        else:
            found += [each for line in block for each in _labelled(line)]
            lists += _listed(heading, block)
    return GatheredPage(
        items=(),
        shown=Thing(candidates=(*_title(lines), *found), lists=tuple(lists)),
        groups=tuple(group for group in groups if group.records),
        base=parse_address(url),
    )


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the runs of lines without a gap, each with the heading it stands under."""
    heading, block = "", list[str]()
    for line in (*lines, ""):
        title = _HEADING.match(line)
        if line.strip() and not title:
            block.append(line)
            continue
        if block:
            yield heading, block
            block = []
        if title:
            heading = plain_text(title[2])


def _title(lines: Sequence[str]) -> Iterator[Candidate]:
    for line in lines:
        if (title := _HEADING.match(line)) and title[1] == "#":
            yield _candidate("name", plain_text(title[2]), Method.HEADING)
            return


def _labelled(line: str) -> Iterator[Candidate]:
    item = _ITEM.match(line)
    for label, value in labelled_parts(plain_text(item[1] if item else line)):
        yield _candidate(label, value, Method.LABEL)


def _listed(heading: str, block: Sequence[str]) -> Iterator[CandidateList]:
    texts = [plain_text(item[1]) for line in block if (item := _ITEM.match(line))]
    if texts and is_label(heading):
        items = tuple(_candidate(heading, text, Method.HEADING) for text in texts if text)
        yield CandidateList(items=items, label=words_of(heading), said=heading)


def _is_table(block: Sequence[str]) -> bool:
    return len(block) > 1 and "|" in block[0] and _RULE.match(block[1].strip()) is not None


def _read_table(block: Sequence[str]) -> tuple[list[Candidate], list[Thing]]:
    head = _cells(block[0])
    rows = [_cells(line) for line in block[2 : _MAX_ROWS + 2]]
    # The first row of a table without labels stands where the labels do.
    is_row = len(head) == _PAIR and any(character.isdigit() for character in head[1])
    pairs = [
        _candidate(row[0], row[1], Method.TABLE)
        for row in ([head, *rows] if is_row else rows)
        if len(row) == _PAIR and row[1] and is_label(row[0])
    ]
    records = [
        Thing(
            candidates=tuple(
                _candidate(name, text, Method.TABLE)
                for name, text in zip(head, row, strict=False)
                if name and text
            ),
            anchor=row[0] if row else "",
        )
        for row in rows
    ]
    return pairs, records


def _cells(line: str) -> list[str]:
    return [plain_text(cell) for cell in _CELL.split(line.strip().strip("|"))]


def _candidate(label: str, text: str, method: Method) -> Candidate:
    said = without_colon(label)
    return Candidate(text=text, label=words_of(said), said=said, method=method)
