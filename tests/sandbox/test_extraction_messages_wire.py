"""The messages about the fields of a schema."""

import json

import pytest

from cinder.extraction.filling import extract_fields
from cinder.models.document import Json
from cinder.sandbox.extraction_handlers import handle_fields
from cinder.sandbox.extraction_messages import fields_answer, fields_job, read_fields
from cinder.sandbox.messages import MalformedMessage, Message
from tests.sandbox.test_messages import sent

URL = "https://a.example/"
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "price": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
HTML = "<p>Price: $12</p><p>Tags: a, b</p><table><tr><th>Price</th><td>$9</td></tr></table>"
MARKDOWN = "Price: $12"


def test_extracted_data_arrives_as_it_was_made() -> None:
    job = fields_job(HTML, MARKDOWN, content_type="text/html", url=URL, schema=SCHEMA)
    expected = extract_fields(HTML, MARKDOWN, url=URL, schema=SCHEMA)
    assert read_fields(sent(handle_fields(sent(job)))) == expected
    assert expected.conflicts
    assert len(expected.values) == 3


@pytest.mark.parametrize("text", [None, "%PDF-1.7 …"])
def test_what_is_no_html_is_read_by_its_markdown(text: str | None) -> None:
    job = fields_job(text, MARKDOWN, content_type="application/pdf", url=URL, schema=SCHEMA)
    assert read_fields(handle_fields(sent(job))).data == {"price": 12}


def test_plain_text_without_markdown_is_read_as_it_is() -> None:
    job = fields_job("Price: $12", None, content_type="text/plain", url=URL, schema=SCHEMA)
    assert read_fields(handle_fields(sent(job))).data == {"price": 12}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("values", None),
        ("values", [{}]),
        ("values", ["x"]),
        ("conflicts", [{"path": []}]),
        ("missing", None),
    ],
)
def test_an_answer_of_another_shape_is_refused(field: str, value: Json) -> None:
    good = fields_answer(extract_fields(HTML, None, url=URL, schema=SCHEMA))
    said = {**json.loads(good.parts[0]), field: value}
    with pytest.raises(MalformedMessage):
        read_fields(Message("fields", {}, (json.dumps(said).encode(),)))


def test_an_answer_without_data_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        read_fields(Message("fields", {}))
