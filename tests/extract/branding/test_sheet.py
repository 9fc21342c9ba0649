"""The sheet on which a branding is put together."""

from cinder.extract.branding.sheet import BrandSheet
from cinder.extract.branding.styles import Styled


def test_the_first_value_of_a_place_stays_and_places_are_nested() -> None:
    sheet = BrandSheet()
    sheet.put("colors.primary", Styled("#ff5500", "css:a"))
    sheet.put("colors.primary", Styled("#000000", "css:b"))
    sheet.put("logo", None)
    sheet.put_list("typography.fontStacks.primary", ["A", "serif"], "css:body")
    sheet.put_value("spacing.baseUnit", 8)
    sheet.note_source("spacing.baseUnit", "css:counted")
    assert sheet.get("colors.primary") == Styled("#ff5500", "css:a")
    assert sheet.get("logo") is None
    assert sheet.as_json() == {
        "colors": {"primary": "#ff5500"},
        "typography": {"fontStacks": {"primary": ["A", "serif"]}},
        "spacing": {"baseUnit": 8},
        "sources": {
            "colors.primary": "css:a",
            "typography.fontStacks.primary": "css:body",
            "spacing.baseUnit": "css:counted",
        },
    }


def test_an_empty_sheet_is_empty() -> None:
    assert BrandSheet().as_json() == {}
