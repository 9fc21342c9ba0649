"""The styles that a brand shows in: of which elements, and where each value came from.

They come from a browser, which has computed them, or from the page's style sheets, of which the
rules are matched here. Either way the result has one shape.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Styled(NamedTuple):
    """A property's value, and where it came from."""

    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StyledElement:
    """An element with those of its styles that a brand shows in."""

    role: str
    name: str
    styles: Mapping[str, Styled]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrandStyles:
    """All that is known of how a page looks."""

    is_computed: bool
    elements: tuple[StyledElement, ...] = ()
    custom_properties: Mapping[str, str] = field(default_factory=dict)
    colours: Mapping[str, int] = field(default_factory=dict)
    """How often each colour is used, as CSS writes it."""
    spaces: Mapping[int, int] = field(default_factory=dict)
    """How often each distance is used, in pixels."""

    def of(self, role: str, name: str) -> Styled | None:
        """Return a property of the first element in a role."""
        element = next((e for e in self.elements if e.role == role), None)
        return element.styles.get(name) if element else None

    def all_of(self, role: str) -> list[StyledElement]:
        """Return every element in a role."""
        return [element for element in self.elements if element.role == role]

    def say(self, kind: str) -> str:
        """Return the source of what was counted over the whole page."""
        return f"{'computed' if self.is_computed else 'css'}:{kind}"


def count_spaces(values: Mapping[str, int]) -> dict[int, int]:
    """Return how often each whole number of pixels stands in the values of paddings and margins."""
    counts: Counter[int] = Counter()
    for value, count in values.items():
        for word in value.split()[:4]:
            pixels = to_pixels(word)
            if pixels is not None and 0 < pixels <= 200 and pixels == int(pixels):
                counts[int(pixels)] += count
    return dict(counts)


def to_pixels(value: str) -> float | None:
    """Return a length in pixels, a `rem` being 16; None for what depends on more."""
    for unit, size in (("px", 1), ("rem", 16), ("pt", 4 / 3)):
        if value.endswith(unit):
            try:
                return round(float(value.removesuffix(unit)) * size, 2)
            except ValueError:
                return None
    return None
