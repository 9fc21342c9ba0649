"""Lengths and numbers of CSS."""

import pytest

from cinder.html.css.values import (
    Colour,
    background_colour,
    find_colour,
    measure_length,
    parse_colour,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#F50", "#ff5500"),
        ("#ff5500ee", "#ff5500"),
        ("rgb(255, 85, 0)", "#ff5500"),
        ("RGB(100% 33.3% 0% / 0.9)", "#ff5500"),
        ("hsl(20deg 100% 50%)", "#ff5500"),
        ("hsla(380, 100%, 50%, 1)", "#ff5500"),
        ("oklch(0.637 0.237 25.331)", "#fb2c36"),
        ("color(srgb 1 0 0)", "#ff0000"),
        ("color(display-p3 1 1 1)", "#ffffff"),
        ("hwb(20 0% 0%)", "#ff5500"),
        ("hwb(0 60% 60%)", "#808080"),
        ("oklab(1 0 0)", "#ffffff"),
        ("lab(100% 0 0)", "#ffffff"),
        ("lch(0 0 0)", "#000000"),
        ("color-mix(in srgb, white, black)", "#808080"),
        ("color-mix(in oklab, rgb(255, 0, 0) 100%, blue)", "#ff0000"),
        ("light-dark(#fff, #000)", "#ffffff"),
        ("rgb(from white r g b)", "#ffffff"),
        (" Rebeccapurple ", "#663399"),
    ],
)
def test_a_colour_is_read(text: str, expected: str) -> None:
    colour = parse_colour(text)
    assert colour is not None
    assert colour.hex == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "transparent", "currentColor", "#12", "#ggg", "rgb(1, 2)", "rgb(a, b, c)"),
        *("rgba(0, 0, 0, .2)", "#00000011", "hsl(nan 1 1)", "color(display-p3 1 0 0)", "var(--x)"),
        *("lab(50 80 0)", "color-mix(in srgb, red 20%, transparent)", "color-mix(in srgb, red)"),
    ],
)
def test_what_is_no_colour_or_shines_through_is_none(text: str) -> None:
    assert parse_colour(text) is None


def test_the_first_colour_of_a_value_is_found() -> None:
    assert find_colour("url(a.png) no-repeat #abc") == Colour(170, 187, 204)
    assert find_colour("linear-gradient(90deg, rgb(1 2 3), red)") == Colour(1, 2, 3)
    assert find_colour("1px solid orange") == Colour(255, 165, 0)
    assert find_colour("url(red.png)") is None
    assert find_colour("inherit") is None


@pytest.mark.parametrize(
    ("background", "expected"),
    [
        ("linear-gradient(#222, #222)", "#222222"),
        ("linear-gradient(to right, rgb(34 34 34) 0%, #232323 100%)", "#222222"),
        ("linear-gradient(#222, #fff)", None),
        ("linear-gradient(#222, transparent)", None),
        ("linear-gradient(#222, #222) no-repeat 0 100%/100% 2px", None),
    ],
)
def test_a_gradient_of_one_colour_is_that_colour(background: str, expected: str | None) -> None:
    colour = background_colour({"background": background})
    assert (colour and colour.hex) == expected


def test_greys_and_darkness_are_told() -> None:
    grey, orange, navy = Colour(120, 125, 130), Colour(255, 165, 0), Colour(0, 0, 128)
    assert [colour.is_grey for colour in (grey, orange, navy)] == [True, False, False]
    assert [colour.is_dark for colour in (grey, orange, navy)] == [True, False, True]


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
    assert measure_length(value) == pytest.approx(amount)


@pytest.mark.parametrize(
    "value",
    [
        *(None, "", "auto", "1foo", "calc(1px", "calc(1px / 0)", "calc(a)", "1px 2px"),
        *("calc(" * 30 + "1px" + ")" * 30, "calc(" + "-" * 200 + "1px)", "1e999px", "clamp(1px)"),
    ],
)
def test_what_is_no_measure_is_none(value: str | None) -> None:
    assert measure_length(value) is None
