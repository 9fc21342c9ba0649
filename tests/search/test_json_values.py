import pytest

from cinder.model.document import Json
from cinder.search.json_values import number_at, text_at, value_at

VALUE: Json = {"a": [{"b": "x"}, {"b": 7}], "c": True, "d": 1.5, "e": None, "f": 10**400}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.0.b", "x"),
        ("a.1", {"b": 7}),
        ("a.2", None),
        ("a.b", None),
        ("a.-1", None),
        ("d.0", None),
        ("none.a", None),
    ],
)
def test_values_are_found_by_their_paths(path: str, found: Json) -> None:
    assert value_at(VALUE, path) == found
    assert value_at(VALUE, "") is VALUE


def test_only_texts_and_numbers_are_text() -> None:
    assert [text_at(VALUE, path) for path in ("a.0.b", "a.1.b", "d", "c", "e", "a", "z")] == [
        *("x", "7", "1.5"),
        *("", "", "", ""),
    ]


def test_only_numbers_of_a_common_size_are_numbers() -> None:
    assert [number_at(VALUE, path) for path in ("a.1.b", "d", "c", "f", "a.0.b", "z")] == [
        *(7, 1.5),
        *(None, None, None, None),
    ]
