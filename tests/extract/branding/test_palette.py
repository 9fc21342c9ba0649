"""The colours of a brand."""

from cinder.extract.branding.palette import choose_colours
from cinder.extract.branding.sheet import BrandSheet
from cinder.extract.branding.styles import BrandStyles, Styled, StyledElement
from cinder.model.document import Json


def chosen(styles: BrandStyles, **meta: str) -> dict[str, tuple[Json, Json]]:
    sheet = BrandSheet()
    choose_colours(sheet, styles, {name.replace("_", "-"): said for name, said in meta.items()})
    whole = sheet.as_json()
    colours, sources = whole.get("colors", {}), whole.get("sources", {})
    assert isinstance(colours, dict)
    assert isinstance(sources, dict)
    return {name: (value, sources[f"colors.{name}"]) for name, value in colours.items()}


def a_button(background: str) -> StyledElement:
    styles = {"background-color": Styled(background, f"css:{background}")}
    return StyledElement(role="button", name="button", styles=styles)


def test_what_a_theme_calls_primary_comes_first() -> None:
    styles = BrandStyles(
        is_computed=False,
        elements=(a_button("#00ff00"),),
        custom_properties={
            "--text-primary": "#111111",
            "--primary-hover": "#222222",
            "--color-primary": "255 85 0",
            "--bs-secondary": "210 40% 50%",
            "--accent": "red",
        },
    )
    assert chosen(styles) == {
        "primary": ("#ff5500", "css:--color-primary"),
        "secondary": ("#4d80b3", "css:--bs-secondary"),
        "accent": ("#ff0000", "css:--accent"),
    }


def test_without_a_theme_buttons_the_meta_tag_and_what_is_frequent_tell() -> None:
    styles = BrandStyles(
        is_computed=True,
        elements=(a_button("#eeeeee"), a_button("#ff5500")),
        colours={"rgb(0, 85, 255)": 9, "rgb(120, 120, 120)": 99, "rgb(255, 85, 0)": 1},
    )
    assert chosen(styles, theme_color="#00aa00") == {
        "primary": ("#ff5500", "css:#ff5500"),
        "secondary": ("#00aa00", "meta:theme-color"),
        "accent": ("#0055ff", "computed:used 9 times"),
    }


def test_a_page_of_greys_has_no_brand_colour() -> None:
    styles = BrandStyles(
        is_computed=False, elements=(a_button("#ccc"),), colours={"#333": 5, "#0000ee": 9}
    )
    assert chosen(styles, theme_color="#ffffff") == {}
