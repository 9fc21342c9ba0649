"""The messages about comparing two texts."""

import json

import pytest

from cinder.models.document import Json
from cinder.models.saved import Comparison
from cinder.sandbox.messages import MalformedMessage, Message
from cinder.sandbox.text_messages import (
    answer_comparison,
    compare_job,
    comparison_answer,
    read_comparison,
)
from cinder.text.diff import compare_texts
from tests.sandbox.test_messages import sent


@pytest.mark.parametrize(("before", "after"), [("a", "a"), ("ž\n\nb", "ž\n\nc\n\nd")])
def test_a_comparison_arrives_as_it_was_made(before: str, after: str) -> None:
    answer = answer_comparison(sent(compare_job(before, after)))
    assert read_comparison(sent(answer)) == compare_texts(before, after)


def test_a_lone_surrogate_does_not_break_the_way() -> None:
    answer = answer_comparison(sent(compare_job("\ud800", "?")))
    assert read_comparison(sent(answer)) == Comparison(is_same=True)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("blocks", None),
        ("blocks", ["x"]),
        ("blocks", [{"kind": "moved", "section": "", "before": None, "after": None}]),
        ("blocks", [{"kind": "added", "section": "", "before": None, "after": 1}]),
        ("blocks", [{}]),
    ],
)
def test_an_answer_of_another_shape_is_refused(field: str, value: Json) -> None:
    good = comparison_answer(compare_texts("a", "b"))
    header = {**json.loads(json.dumps(good.header)), field: value}
    with pytest.raises(MalformedMessage):
        read_comparison(Message("comparison", header, good.parts))
