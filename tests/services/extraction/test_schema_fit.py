"""Data is held against the caller's schema."""

from cinder.llm.schema_check import SchemaCheck
from cinder.services.extraction.schema_fit import drop_refused, find_problems
from tests.services.extraction.findings import findings, value

CHECK = SchemaCheck(
    {
        "type": "object",
        "properties": {
            "code": {"type": "string", "pattern": "^[A-Z]+$"},
            "sizes": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        },
        "required": ["code"],
    }
)


def test_a_refused_value_is_left_out_named_and_missing() -> None:
    left = drop_refused(findings(value(("code",), "abc"), value(("sizes", 0), 3)), CHECK)
    assert (left.data, left.missing) == ({"sizes": [3]}, ("code",))
    assert left.warnings[0].startswith("code: a value was left out")
    assert find_problems(left, CHECK)


def test_of_an_array_only_the_refused_items_go() -> None:
    items = [value(("sizes", n), n - 30) for n in range(60)]
    left = drop_refused(findings(value(("code",), "A"), *items), CHECK)
    assert left.data == {"code": "A", "sizes": list(range(30))}
    assert [each.path for each in left.values[1:3]] == [("sizes", 0), ("sizes", 1)]
    assert find_problems(left, CHECK) == ()


def test_what_fits_is_left_alone() -> None:
    found = findings(value(("code",), "A"))
    assert drop_refused(found, CHECK) is found
