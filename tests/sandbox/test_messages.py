"""The messages between the sandbox and its workers."""

import inspect
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from cinder.errors import FieldProblem
from cinder.models.document import Extraction, HtmlFacts, Json, PageMetadata
from cinder.models.extraction import ExtractedData, RankedPassage
from cinder.models.recipe import Recipe, RecipeTrials
from cinder.models.saved import Comparison
from cinder.sandbox.extraction_messages import EXTRACTION_JOBS
from cinder.sandbox.messages import (
    PAGE_JOBS,
    PREFIX_BYTES,
    CompareJob,
    ExtractionAnswer,
    MalformedMessage,
    Message,
    read_sizes,
)

ANSWERS = (
    *(ExtractionAnswer, HtmlFacts, Comparison, ExtractedData, RecipeTrials, Recipe),
    *(tuple[RankedPassage, ...], tuple[FieldProblem, ...], list[str], dict[str, Json], str),
)
# Lone surrogates do not arrive as they were sent.
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
NUMBERS = st.integers() | st.floats(allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)

# NaN does not equal itself.
SIMPLE: dict[Any, SearchStrategy[Any]] = {
    Any: JSON,
    str: TEXTS,
    float: st.floats(allow_nan=False),
}


def values_of(type_: Any) -> SearchStrategy[Any]:
    """Return the values of a type: every field of a class varies, with or without a default."""
    origin, arguments = get_origin(type_), get_args(type_)
    if type_ in SIMPLE:
        return SIMPLE[type_]
    if origin in (UnionType, typing.Union):
        return st.one_of(*map(values_of, arguments))
    if origin is list or (origin is tuple and arguments[-1] is Ellipsis):
        lists = st.lists(values_of(arguments[0]), max_size=3)
        return lists.map(tuple) if origin is tuple else lists
    if origin in (dict, Mapping):
        return st.dictionaries(*map(values_of, arguments), max_size=3)
    if is_dataclass(type_) or issubclass(type_, msgspec.Struct | tuple):
        hints, names = get_type_hints(type_), inspect.signature(type_).parameters
        return st.builds(type_, **{name: values_of(hints[name]) for name in names})
    return st.from_type(type_)


def sent(message: Message) -> Message:
    """Return the message as the other side reads it."""
    raw = b"".join(message.frame())
    kind_bytes, content_bytes = read_sizes(raw[:PREFIX_BYTES])
    rest = raw[PREFIX_BYTES:]
    assert len(rest) == kind_bytes + content_bytes
    return Message(rest[:kind_bytes].decode(), rest[kind_bytes:])


@pytest.mark.parametrize(
    "type_", [*PAGE_JOBS.values(), *EXTRACTION_JOBS.values(), *ANSWERS], ids=str
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_every_message_arrives_as_it_was_sent(type_: type[Any], data: st.DataObject) -> None:
    value = data.draw(values_of(type_))
    arrived = sent(Message.of("x", value)).read(type_)
    assert arrived == value
    assert type(arrived) is type(value)


def test_every_job_has_a_kind_of_its_own() -> None:
    assert not PAGE_JOBS.keys() & EXTRACTION_JOBS.keys()
    assert len(PAGE_JOBS) + len(EXTRACTION_JOBS) == 11


def test_a_text_that_is_the_body_does_not_travel() -> None:
    body = "Grüße ".encode() * 1_000
    extraction = Extraction(text="Grüße " * 1_000, markdown="Grüße")
    message = Message.of("result", ExtractionAnswer.of(extraction, body))
    assert len(message.content) < 1_000
    assert sent(message).read(ExtractionAnswer).restore(body) == extraction


@pytest.mark.parametrize("text", [None, "", "another"])
def test_any_other_text_travels(text: str | None) -> None:
    answer = ExtractionAnswer.of(Extraction(text=text), b"body")
    assert answer.restore(b"body").text == text


def test_nothing_derived_is_taken_from_a_child() -> None:
    extraction = Extraction(markdown="x")
    extraction.derived["terms"] = "planted"
    answer = sent(Message.of("result", ExtractionAnswer.of(extraction, b"")))
    assert answer.read(ExtractionAnswer).restore(b"").derived == {}


def test_lone_surrogates_become_question_marks() -> None:
    arrived = sent(Message.of("compare", CompareJob("a\ud800", "b"))).read(CompareJob)
    assert arrived == CompareJob("a?", "b")


def test_large_numbers_arrive_whole() -> None:
    metadata = PageMetadata(json_ld=({"id": 2**80, "name": "\udc00"},))
    message = sent(Message.of("result", ExtractionAnswer.of(Extraction(metadata=metadata), b"")))
    expected = replace(metadata, json_ld=({"id": 2**80, "name": "?"},))
    assert message.read(ExtractionAnswer).extraction.metadata == expected


def test_content_beyond_the_limit_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        read_sizes(b"\x01\xff\xff\xff\xff")


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b"not json", b"\x80", b"[" * 100_000, b"\x91" * 100_000, b"\xff", b"\xc0"],
)
def test_content_that_is_no_answer_is_refused(content: bytes) -> None:
    with pytest.raises(MalformedMessage):
        Message("result", content).read(ExtractionAnswer)


GOOD: dict[type[Any], object] = {
    ExtractionAnswer: ExtractionAnswer.of(Extraction(text="x", links=("l",)), b""),
    Comparison: {"is_same": False, "diff": {"unified": "", "blocks": []}},
    ExtractedData: ExtractedData(),
    Recipe: Recipe(),
    RecipeTrials: RecipeTrials(ExtractedData(), ()),
}


@pytest.mark.parametrize(
    ("type_", "path", "value"),
    [
        (ExtractionAnswer, ["extraction", "links"], "https://e.org/"),
        (ExtractionAnswer, ["extraction", "images"], [1]),
        (ExtractionAnswer, ["extraction", "metadata"], []),
        (ExtractionAnswer, ["extraction", "metadata", "open_graph"], {"a": 1}),
        (ExtractionAnswer, ["extraction", "word_count"], "1"),
        (ExtractionAnswer, ["extraction", "is_partial"], 1),
        (ExtractionAnswer, ["extraction", "warnings"], None),
        (Comparison, ["diff", "blocks"], ["x"]),
        (Comparison, ["diff", "blocks"], [{"kind": "moved", "section": ""}]),
        (Comparison, ["diff", "blocks"], [{"kind": "added", "section": "", "after": 1}]),
        (ExtractedData, ["values"], None),
        (ExtractedData, ["values"], [{}]),
        (ExtractedData, ["conflicts"], [{"path": []}]),
        (ExtractedData, ["missing"], None),
        (Recipe, ["fields"], [{"path": ["a"]}]),
        (RecipeTrials, ["trials"], ["no such"]),
    ],
)
def test_a_value_of_another_type_is_refused(
    type_: type[Any], path: list[str], value: object
) -> None:
    answer = msgspec.to_builtins(GOOD[type_])
    Message.of("result", answer).read(type_)
    place = answer
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises(MalformedMessage):
        Message.of("result", answer).read(type_)
