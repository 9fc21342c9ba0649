"""Names: those that somebody gave are kept, those that a tool made are not."""

import pytest

from cinder.extract.recipes.names import is_given_name


@pytest.mark.parametrize(
    "name", ["price", "product__price", "productPrice", "author-name", "spec_2", "isbn13"]
)
def test_a_name_that_says_what_a_thing_is_is_given(name: str) -> None:
    assert is_given_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("css-1q2w3e", "sc-bdVaJa", "Price_root__3xYz1", "jsx-39210", "_2FcNe", "hZkQtr"),
        *("product-12345", "item-8f3a9c", "a" * 80, "", "md:w-1/2"),
    ],
)
def test_a_name_that_a_tool_made_is_not(name: str) -> None:
    assert not is_given_name(name)


@pytest.mark.parametrize("name", ["mt-4", "col-6", "text-lg", "flex", "row", "bg-white"])
def test_a_name_that_lays_a_thing_out_is_not(name: str) -> None:
    assert not is_given_name(name)
