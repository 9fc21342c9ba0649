"""Styles as a browser computed them."""

import pytest

from cinder.extract.branding.computed_styles import styles_from_browser
from cinder.extract.branding.styles import BrandStyles, Styled, StyledElement
from cinder.model.document import Json


def test_samples_become_styles_with_the_element_as_source() -> None:
    samples: dict[str, Json] = {
        "elements": [
            {"role": "body", "name": "body.a", "styles": {"color": "red", "canvas": "white"}},
            {"role": "h1", "name": "h1", "styles": {"color": "blue", "cursor": "none"}},
        ],
        "colours": {"red": 3},
        "spaces": {"8px 16px": 2},
        "properties": {"--brand": "red"},
    }
    assert styles_from_browser(samples) == BrandStyles(
        is_computed=True,
        elements=(
            StyledElement(
                role="body",
                name="body.a",
                styles={
                    "color": Styled("red", "computed:body.a"),
                    "background-color": Styled("white", "computed:canvas"),
                },
            ),
            StyledElement(role="h1", name="h1", styles={"color": Styled("blue", "computed:h1")}),
        ),
        custom_properties={"--brand": "red"},
        colours={"red": 3},
        spaces={8: 2, 16: 2},
    )


@pytest.mark.parametrize(
    "samples",
    [
        {},
        {"elements": "x", "colours": [], "spaces": 1, "properties": None},
        {"elements": [1, {}, {"role": "spy", "name": "x"}, {"role": "h1"}]},
        {"colours": {"red": "many"}, "spaces": {"8px": -1}, "properties": {"--a": 1}},
    ],
)
def test_samples_of_another_shape_are_left_out(samples: dict[str, Json]) -> None:
    assert styles_from_browser(samples) == BrandStyles(is_computed=True)
