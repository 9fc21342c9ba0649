"""Lengths and numbers of CSS, roughly in pixels of an ordinary window; sums of constants too."""

import math
import re

_EM = 16.0
_WINDOW = 1_000.0
_UNITS = {
    "": 1.0, "px": 1.0, "em": _EM, "rem": _EM, "ch": 8.0, "ex": 8.0, "lh": 20.0, "rlh": 20.0,
    "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 37.8, "mm": 3.78, "q": 0.945,
    "deg": 1.0, "turn": 360.0, "grad": 0.9, "rad": 57.3,
}  # fmt: skip
_WINDOW_UNIT = re.compile(r"[sld]?v(?:w|h|i|b|min|max)|cq(?:w|h|i|b|min|max)")
_PLAIN = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?)([a-z%]{0,6})")
_TOKEN = re.compile(r"\s*((?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?[a-z%]{0,6}|[a-z]{3,6}\(|[-+*/(),])")
_FUNCTIONS = ("calc(", "min(", "max(", "clamp(", "-webkit-calc(")
_MAX_DEPTH = 20
_MAX_TOKENS = 100


class _NoMeasureError(ValueError):
    """The text is no sum of constants."""


def measure(
    value: str | None, *, share_of: float = _WINDOW, window: float = _WINDOW
) -> float | None:
    """Return how many pixels, degrees or units a value is; None where it is no such value.

    Args:
        value: what was declared, in lower case.
        share_of: what a percentage is a share of.
        window: how wide and high the window is.
    """
    if not value:
        return None
    found = _PLAIN.fullmatch(value)
    try:
        if found is not None:
            return _amount(found[1], found[2], share_of, window)
        return _Sum(value, share_of, window).total() if value.startswith(_FUNCTIONS) else None
    except (_NoMeasureError, OverflowError, ZeroDivisionError):
        return None


def _amount(number: str, unit: str, share_of: float, window: float) -> float:
    if unit == "%":
        factor = share_of / 100
    elif unit in _UNITS:
        factor = _UNITS[unit]
    elif _WINDOW_UNIT.fullmatch(unit):
        factor = window / 100
    else:
        raise _NoMeasureError
    amount = float(number) * factor
    if not math.isfinite(amount):
        raise _NoMeasureError
    return amount


class _Sum:
    """A sum as `calc()` has it, read once from left to right."""

    def __init__(self, text: str, share_of: float, window: float) -> None:
        text = text.removeprefix("-webkit-")
        self._tokens = _TOKEN.findall(text)[:_MAX_TOKENS]
        self._share_of = share_of
        self._window = window
        self._next = 0
        self._depth = 0
        if sum(map(len, self._tokens)) != len("".join(text.split())):
            raise _NoMeasureError

    def total(self) -> float:
        total = self._sum()
        if self._next < len(self._tokens):
            raise _NoMeasureError
        return total

    def _take(self) -> str:
        if self._next >= len(self._tokens):
            raise _NoMeasureError
        self._next += 1
        return str(self._tokens[self._next - 1])

    def _peek(self) -> str:
        return str(self._tokens[self._next]) if self._next < len(self._tokens) else ""

    def _sum(self) -> float:
        total = self._product()
        while self._peek() in ("+", "-"):
            total += self._product() if self._take() == "+" else -self._product()
        return total

    def _product(self) -> float:
        total = self._factor()
        while self._peek() in ("*", "/"):
            total = total * self._factor() if self._take() == "*" else total / self._factor()
        return total

    def _factor(self) -> float:
        part = self._take()
        if part in ("+", "-"):
            return self._factor() if part == "+" else -self._factor()
        if part.endswith("("):
            return self._call(part)
        found = _PLAIN.fullmatch(part)
        if found is None:
            raise _NoMeasureError
        return _amount(found[1], found[2], self._share_of, self._window)

    def _call(self, name: str) -> float:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _NoMeasureError
        values = [self._sum()]
        while self._peek() == ",":
            self._take()
            values.append(self._sum())
        if self._take() != ")":
            raise _NoMeasureError
        self._depth -= 1
        return _combine(name, values)


def _combine(name: str, values: list[float]) -> float:
    if name in ("(", "calc(") and len(values) == 1:
        return values[0]
    if name == "min(":
        return min(values)
    if name == "max(":
        return max(values)
    if name == "clamp(" and len(values) == 3:
        return max(values[0], min(values[1], values[2]))
    raise _NoMeasureError
