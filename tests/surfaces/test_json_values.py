import json
import random

import pytest

from cinder.surfaces.json_values import JsonValues


def count_in_pieces(text: bytes, size: int) -> int:
    values = JsonValues()
    for start in range(0, len(text), size):
        values.feed(text[start : start + size])
    return values.count


def count_values(value: object) -> int:
    held: list[object] = []
    if isinstance(value, dict):
        held = list(value.values())
    elif isinstance(value, list):
        held = value
    # An empty list or object counts twice.
    is_empty = isinstance(value, dict | list) and not held
    return 1 + is_empty + sum(map(count_values, held))


@pytest.mark.parametrize("size", [1, 2, 3, 1_000])
@pytest.mark.parametrize(
    "value",
    [
        1,
        "",
        [],
        {},
        [1, "a,b", {"c,[{": "\\", '"d"': '\\"'}],
        {"a": [[], [[]], {"b": {}}], "c": ["\\\\", "\\\\\\", '",', "\u00e9\u2028"]},
    ],
)
def test_values_are_counted_in_pieces_of_any_size(value: object, size: int) -> None:
    assert count_in_pieces(json.dumps(value).encode(), size) == count_values(value)
    assert count_in_pieces(json.dumps(value, ensure_ascii=False).encode(), size) == (
        count_values(value)
    )


def test_commas_and_brackets_within_made_up_strings_do_not_count() -> None:
    made_up = random.Random(4)
    for _ in range(300):
        strings = ["".join(made_up.choices('\\",[{}]: a', k=6)) for _ in range(4)]
        value = {"a": strings, strings[0]: strings[1]}
        text = json.dumps(value).encode()
        assert count_in_pieces(text, made_up.randint(1, 9)) == count_values(value)
