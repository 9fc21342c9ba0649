"""Where recipes belong: sites, shapes of addresses, wishes."""

import pytest

from cinder.models.document import Json
from cinder.services.extraction.site_recipes import (
    describe_fields,
    recipe_place_of,
    shape_of,
    site_of,
)
from cinder.services.extraction.stages import LoadedPage, make_extraction_spec

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array"}},
}


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://www.shop.example/lamps/1", "shop.example"),
        ("https://shop.example:8443/", "shop.example:8443"),
        ("http://[::1]:80/", "[::1]"),
    ],
)
def test_the_site_is_the_host(url: str, site: str) -> None:
    assert site_of(url) == site


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/", "/"),
        ("/lamps/brass-lamp", "/lamps/*"),
        ("/lamps/brass-lamp?utm_source=x", "/lamps/*"),
        ("/2024/05/news/", "/*/*/news/"),
        ("/product.php?id=5&utm_source=x", "/product.php?id=*"),
        ("/product.php", "/product.php"),
        ("/items/8f3a9c77d1/reviews", "/items/*/*"),
    ],
)
def test_the_shape_is_what_pages_made_alike_share(path: str, shape: str) -> None:
    assert shape_of(f"https://shop.example{path}") == shape


def test_a_shape_has_a_bounded_length() -> None:
    assert len(shape_of("https://shop.example/" + "x/" * 2_000)) == 300


def test_the_wish_is_the_schema_and_the_prompt() -> None:
    page = LoadedPage(url="https://a.example/x", markdown="", text="", content_type="", owner="her")

    def wish(prompt: str, schema: dict[str, Json] = SCHEMA) -> str:
        return recipe_place_of(page, make_extraction_spec(prompt, schema)).wish

    assert wish("a  name") == wish(" a name")
    assert len({wish(""), wish("name"), wish("", {"type": "object"})}) == 3
    assert recipe_place_of(page, make_extraction_spec("", SCHEMA)).owner == "her"
    assert describe_fields(make_extraction_spec("", SCHEMA)) == "name, tags"
