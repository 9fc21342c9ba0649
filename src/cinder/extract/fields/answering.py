"""What a worker does with a job about the fields of a schema."""

import json

from cinder.extract.content_kind import Shape, content_kind
from cinder.extract.fields.extraction import extract_fields
from cinder.extract.fields.wire import fields_answer
from cinder.extract.wire import Message


def answer_fields(job: Message) -> Message:
    """Fill the schema that a job carries from the page that it carries."""
    header = job.header
    text, markdown, schema = (part.decode() for part in job.parts)
    is_html = header["has_text"] is True and (
        content_kind(str(header["content_type"]), text).shape is Shape.HTML
    )
    extracted = extract_fields(
        text if is_html else None,
        markdown if header["has_markdown"] is True else text,
        url=str(header["url"]),
        schema=json.loads(schema),
    )
    return fields_answer(extracted)
