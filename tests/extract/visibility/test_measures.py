"""Lengths and numbers of CSS."""

import pytest

from cinder.extract.visibility.measures import measure


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        ("3px", 3),
        ("-.5em", -8),
        ("0", 0),
        ("1e1px", 10),
        ("50%", 500),
        ("10vw", 100),
        ("calc(1px - 1px)", 0),
        ("calc(2 * (3px + 1px) / 4)", 2),
        ("-webkit-calc(1px + 1px)", 2),
        ("max(1px, min(5px, 2px))", 2),
        ("clamp(1px, 9px, 3px)", 3),
        ("calc(-1 * 9999px)", -9999),
    ],
)
def test_a_value_is_measured(value: str, amount: float) -> None:
    assert measure(value) == pytest.approx(amount)


@pytest.mark.parametrize(
    "value",
    [
        *(None, "", "auto", "1foo", "calc(1px", "calc(1px / 0)", "calc(a)", "1px 2px"),
        *("calc(" * 30 + "1px" + ")" * 30, "calc(" + "-" * 200 + "1px)", "1e999px", "clamp(1px)"),
    ],
)
def test_what_is_no_measure_is_none(value: str | None) -> None:
    assert measure(value) is None
