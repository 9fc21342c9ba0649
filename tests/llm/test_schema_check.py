"""Checking values, and the schemas that callers write."""

from collections.abc import Mapping

import pytest

from cinder.errors import InvalidRequest
from cinder.llm.schema_check import SchemaCheck, TooCostly, check_cost
from cinder.models.document import Json
from tests.site import Canary

NODE: Json = {"$ref": "#/$defs/node"}


def with_node(node: Json, **more: Json) -> dict[str, Json]:
    return {"$ref": "#/$defs/node", "$defs": {"node": node, **more}}


def chain(length: int, ways: int) -> dict[str, Json]:
    """Schemas of which each checks by the next, so many times."""
    links: dict[str, Json] = {
        f"a{number}": {"anyOf": [{"$ref": f"#/$defs/a{number + 1}"}] * ways}
        for number in range(length)
    }
    return {"$ref": "#/$defs/a0", "$defs": {**links, f"a{length}": {"type": "string"}}}


def circle(length: int) -> dict[str, Json]:
    """A chain that begins anew at the next level of a value."""
    schema = chain(length, 1)
    links = schema["$defs"]
    assert isinstance(links, dict)
    links[f"a{length}"] = {
        "properties": {"next": {"$ref": "#/$defs/a0"}, "name": {"type": "string"}}
    }
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "number"}]}}},
        # A tree, a thread of comments, and what an optional field of the same kind looks like.
        with_node({"properties": {"left": NODE, "right": NODE}}),
        with_node({"properties": {"answers": {"type": "array", "items": NODE}}}),
        with_node({"properties": {"below": {"anyOf": [NODE, {"type": "null"}]}}}),
        {"properties": {"next": {"$ref": "#"}}},
        chain(5, 2),
        chain(200, 1),
    ],
)
def test_common_schemas_are_let_by_and_values_checked(schema: Mapping[str, Json]) -> None:
    check_cost(schema)
    assert SchemaCheck(schema).problems(None) is not None


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (chain(40, 2), "more than 20000 steps"),
        (chain(400, 1), "more than 500 references"),
        (circle(20), "too many references"),
        ({"$ref": "#"}, "too many references"),
        (with_node({"items": {"anyOf": [NODE, NODE]}}), "in more than one way"),
        (with_node({"items": NODE, "contains": NODE}), "in more than one way"),
        (with_node({"properties": {"a": NODE}, "patternProperties": {"a": NODE}}), "more than one"),
        (with_node({"items": NODE, "allOf": [{"items": NODE}]}), "in more than one way"),
        (
            with_node({"items": {"oneOf": [NODE, {"$ref": "#/$defs/b"}]}}, b={"items": NODE}),
            "in more than one way",
        ),
        ({"$ref": "https://a.example/schema"}, "leads elsewhere"),
        ({"$ref": "#name"}, "leads elsewhere"),
        ({"$dynamicRef": "#node"}, r"\$dynamicRef"),
        ({"properties": {"a": {"$id": "b", "$ref": "#"}}}, r"an \$id of its own"),
    ],
)
def test_what_would_multiply_or_cannot_be_foreseen_is_refused(
    schema: Mapping[str, Json], words: str
) -> None:
    with pytest.raises(TooCostly, match=words):
        check_cost(schema)


def test_places_are_found_by_their_pointers() -> None:
    schema: dict[str, Json] = {
        "properties": {"a/b": {"anyOf": [{"type": "string"}]}, "c": {"$ref": "#/properties/a~1b"}},
        "items": {"$ref": "#/properties/a~1b/anyOf/0"},
    }
    check_cost(schema)
    assert len(SchemaCheck(schema).problems({"a/b": 1, "c": 1})) == 2


def test_the_longest_circles_are_checked_as_deep_as_values_go() -> None:
    value: Json = {}
    for _ in range(60):
        value = {"next": value, "name": 1}
    check = SchemaCheck(circle(14))
    assert len(check.problems(value)) == 1
    assert check.problems([[value] * 2]) == ()
    for _ in range(300):
        value = [value]
    assert check.problems(value) == ("the answer: It is nested more than 64 levels deep",)


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
