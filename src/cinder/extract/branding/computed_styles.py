"""Styles as a browser computed them, read from what its script brought home."""

from collections.abc import Mapping

from cinder.extract.branding.styles import BrandStyles, Styled, StyledElement, count_spaces
from cinder.model.brand_roles import BRAND_ROLES, BRAND_STYLES, BUTTON
from cinder.model.document import Json

_MAX_ELEMENTS = 50
_MAX_ITEMS = 1_000
_MAX_CHARS = 500


def styles_from_browser(samples: Mapping[str, Json]) -> BrandStyles:
    """Return how a page looks; what of the samples has another shape than theirs is left out."""
    elements = samples.get("elements")
    return BrandStyles(
        is_computed=True,
        elements=tuple(
            element
            for item in (elements if isinstance(elements, list) else [])[:_MAX_ELEMENTS]
            if (element := _element(item)) is not None
        ),
        custom_properties=_texts(samples.get("properties")),
        colours=_counts(samples.get("colours")),
        spaces=count_spaces(_counts(samples.get("spaces"))),
    )


def _element(item: Json) -> StyledElement | None:
    if not isinstance(item, dict):
        return None
    role, name = item.get("role"), item.get("name")
    if role not in (*BRAND_ROLES, BUTTON) or not isinstance(name, str):
        return None
    styles = _texts(item.get("styles"))
    source = f"computed:{name[:80]}"
    known = {key: Styled(value, source) for key, value in styles.items() if key in BRAND_STYLES}
    canvas = styles.get("canvas")
    if canvas:
        # The element itself is transparent: what is seen is what lies under it.
        known["background-color"] = Styled(canvas, "computed:canvas")
    return StyledElement(role=str(role), name=name[:80], styles=known)


def _texts(value: Json) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    pairs = list(value.items())[:_MAX_ITEMS]
    return {k[:_MAX_CHARS]: v[:_MAX_CHARS] for k, v in pairs if isinstance(v, str) and v}


def _counts(value: Json) -> dict[str, int]:
    if not isinstance(value, dict):
        return {}
    pairs = list(value.items())[:_MAX_ITEMS]
    return {k[:_MAX_CHARS]: int(v) for k, v in pairs if isinstance(v, int) and 0 < v < 10**9}
