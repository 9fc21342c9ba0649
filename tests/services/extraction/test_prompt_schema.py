"""Schemas derived from prompts that list fields."""

import pytest

from cinder.models.document import Json
from cinder.services.extraction.pipeline import read_prompt_fields

STRING: Json = {"type": "string"}
NUMBER: Json = {"type": "number"}
DATE: Json = {"type": "string", "format": "date"}


@pytest.mark.parametrize(
    ("prompt", "fields"),
    [
        (
            "Extract product name, price, and customer rating",
            {"productName": STRING, "price": NUMBER, "customerRating": NUMBER},
        ),
        ("the author name and publication date", {"authorName": STRING, "publicationDate": DATE}),
        ("What is the price of this product?", {"price": NUMBER}),
        ("the name of the author", {"authorName": STRING}),
        ("I need the following: name; phone number", {"name": STRING, "phoneNumber": STRING}),
        ("Find the CEO's name on the about page", {"ceoName": STRING}),
        ("number of reviews (all of them)", {"reviewsNumber": {"type": "integer"}}),
        ("link to the image", {"linkToImage": {"type": "string", "format": "uri"}}),
        ("contact email", {"contactEmail": {"type": "string", "format": "email"}}),
        ("price. Write it as a number, without the sign of the currency.", {"price": NUMBER}),
    ],
)
def test_what_a_prompt_lists_are_fields(prompt: str, fields: dict[str, Json]) -> None:
    assert read_prompt_fields(prompt) == {"type": "object", "properties": fields}


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "Please summarise the article",
        "Explain what this is about",
        "everything that a person who has never been here before would want to know of it",
    ],
)
def test_a_prompt_that_lists_nothing_gives_no_schema(prompt: str) -> None:
    assert read_prompt_fields(prompt) is None


def test_a_long_list_is_cut() -> None:
    schema = read_prompt_fields(", ".join(f"field{n}" for n in range(100)))
    assert schema is not None
    assert len(str(schema["properties"]).split("field")) == 31
