"""The srcset attribute."""

import pytest

from cinder.extract.srcset import parse_srcset, widest


@pytest.mark.parametrize(
    ("value", "candidates"),
    [
        ("a.png", [("a.png", "")]),
        ("a.png 1x, b.png 2x", [("a.png", "1x"), ("b.png", "2x")]),
        ("a.png 1x,b.png 2x", [("a.png", "1x"), ("b.png", "2x")]),
        ("a.png, b.png", [("a.png", ""), ("b.png", "")]),
        ("/w_1,h_2/a.png 300w", [("/w_1,h_2/a.png", "300w")]),
        (" , ,", []),
        ("", []),
    ],
)
def test_candidates_are_told_apart(value: str, candidates: list[tuple[str, str]]) -> None:
    assert parse_srcset(value) == candidates


def test_the_widest_candidate_is_found() -> None:
    assert widest([("a", "300w"), ("b", "1200w"), ("c", "600w")]) == "b"
    assert widest([]) is None
