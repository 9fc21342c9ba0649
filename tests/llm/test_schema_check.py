"""Checking values, and the schemas that callers write."""

from collections.abc import Mapping

import pytest

from cinder.errors import InvalidRequest
from cinder.llm.schema_check import SchemaCheck
from cinder.model.document import Json
from tests.site import Canary


def nested(levels: int) -> dict[str, Json]:
    schema: dict[str, Json] = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


def test_problems_name_where_and_what() -> None:
    check = SchemaCheck(
        {"properties": {"price": {"minimum": 0}, "tags": {"items": {"type": "string"}}}}
    )
    assert check.problems({"price": 3, "tags": []}) == ()
    assert check.problems({"price": -5, "tags": ["a", 1]}) == (
        "price: -5 is less than the minimum of 0",
        'tags.1: 1 is not of type "string"',
    )
    assert SchemaCheck({"type": "object"}).problems(5) == ('the answer: 5 is not of type "object"',)


def test_problems_are_few_and_short() -> None:
    check = SchemaCheck({"items": {"type": "number"}})
    problems = check.problems(["x" * 10_000] * 50)
    assert len(problems) == 10
    assert max(map(len, problems)) < 400


def test_what_is_no_text_is_a_problem_of_the_value() -> None:
    assert SchemaCheck({"type": "string"}).problems("\ud800")[0].startswith("the answer: ")


@pytest.mark.parametrize(
    ("schema", "field", "words"),
    [
        ({"type": "objekt"}, "schema.type", "objekt"),
        ({"properties": {"a": {"minimum": "0"}}}, "schema.properties.a.minimum", "number"),
        ({"$ref": "#/$defs/none"}, "schema", "does not exist"),
        ({"pattern": "(?=a)b"}, "schema.pattern", "regex"),
        (nested(100), "schema", "nested more than 64 levels"),
        ({"enum": list(range(20_000))}, "schema", "more than 10000 parts"),
        ({"description": "x" * 200_000}, "schema", "more than 100000 characters"),
    ],
)
def test_a_schema_that_cannot_be_used_says_where(
    schema: Mapping[str, Json], field: str, words: str
) -> None:
    with pytest.raises(InvalidRequest) as failed:
        SchemaCheck(schema)
    assert failed.value.problems[0].field == field
    assert words in failed.value.problems[0].message


@pytest.mark.parametrize("key", ["$ref", "$schema"])
def test_nothing_that_a_schema_names_is_asked_of_the_network(key: str, canary: Canary) -> None:
    with pytest.raises(InvalidRequest):
        SchemaCheck({key: f"http://127.0.0.1:{canary.port}/schema.json"})
    assert not canary.was_reached()
