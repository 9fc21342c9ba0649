"""How well extracted data agrees with what is true, value by value."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cinder.models.document import Json

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Score:
    """How many values are right, were given, and were there to find."""

    right: int = 0
    given: int = 0
    there: int = 0

    def __add__(self, other: "Score") -> "Score":
        return Score(self.right + other.right, self.given + other.given, self.there + other.there)

    @property
    def precision(self) -> float:
        return self.right / self.given if self.given else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.there if self.there else 1.0


def score_data(data: Json, truth: Json) -> Score:
    """Compare data with the truth; items of lists are paired by their place."""
    given, there = dict(leaves(data)), dict(leaves(truth))
    right = sum(path in there and is_same(value, there[path]) for path, value in given.items())
    return Score(right, len(given), len(there))


def leaves(
    value: Json, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    """Yield every value that is no container, with its path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for place, item in enumerate(value):
            yield from leaves(item, (*path, place))
    elif value is not None:
        yield path, value


def is_same(one: Json, other: Json) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= _TOLERANCE
    return one == other
