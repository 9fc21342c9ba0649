"""The messages between the sandbox and its workers."""

import json

import pytest

from cinder.errors import FieldProblem, InvalidRequest, Unsupported
from cinder.models.document import (
    Extraction,
    HiddenPart,
    HtmlFacts,
    HtmlHeading,
    Json,
    PageMetadata,
)
from cinder.models.request import ContentOptions, ExtractOptions, Format
from cinder.sandbox.messages import (
    PREFIX_BYTES,
    MalformedMessage,
    Message,
    extract_job,
    extraction_answer,
    facts_answer,
    invalid_answer,
    pdf_job,
    read_extraction,
    read_facts,
    read_header,
    read_header_size,
    read_invalid,
    read_options,
    read_unseen,
    read_unsupported,
    unsupported_answer,
)


def sent(message: Message) -> Message:
    """Return the message as the other side reads it."""
    raw = b"".join(message.frame())
    rest = raw[PREFIX_BYTES:]
    end = read_header_size(raw[:PREFIX_BYTES])
    kind, header, sizes = read_header(rest[:end])
    parts = []
    for size in sizes:
        parts.append(rest[end : end + size])
        end += size
    assert end == len(rest)
    return Message(kind, header, tuple(parts))


def test_options_arrive_as_they_were_sent() -> None:
    options = ExtractOptions(
        formats=(Format.HTML, Format.LINKS),
        content=ContentOptions(
            clean=False, only_main_content=False, include_tags=("a",), exclude_tags=("#b", ".c")
        ),
        strip_chrome_tags=False,
        remove_base64_images=False,
    )
    unseen = (HiddenPart(3, "LABEL"), HiddenPart(7, "OTHER"))
    job = sent(extract_job(b"\0body\xff", "text/html", "https://e.org/", options, unseen))
    assert read_unseen(job.header) == unseen
    assert job.kind == "extract"
    assert job.parts == (b"\0body\xff",)
    assert read_options(job.header) == options


@pytest.mark.parametrize(
    "extraction",
    [
        Extraction(),
        Extraction(
            text="ž\n",
            markdown="",
            html="<p>",
            links=("https://e.org/",),
            images=(),
            metadata=PageMetadata(
                title="t",
                keywords=("a", "b"),
                images=("i",),
                open_graph={"og:title": "o"},
                json_ld=({"a": [1, None, {"b": 2.5}]},),
                page_count=3,
            ),
            empty_evidence="no text layer",
            word_count=1,
            token_count=2,
            is_partial=True,
            warnings=("careful",),
        ),
    ],
)
def test_an_extraction_arrives_as_it_was_sent(extraction: Extraction) -> None:
    assert read_extraction(sent(extraction_answer(extraction, b"")), b"") == extraction


def test_a_text_that_is_the_body_does_not_travel() -> None:
    extraction, body = (
        Extraction(text="Grüße " * 1_000, markdown="Grüße"),
        "Grüße ".encode() * 1_000,
    )
    answer = sent(extraction_answer(extraction, body))
    assert answer.parts == ("Grüße".encode(),)
    assert read_extraction(answer, body) == extraction


def test_facts_arrive_as_they_were_sent() -> None:
    facts = HtmlFacts(
        title="t",
        headings=(HtmlHeading(1, "a"), HtmlHeading(2, "b")),
        paragraph_count=1,
        link_count=2,
        image_count=3,
        word_count=4,
        content_hash="f00",
        meta={"a": "b"},
        links=("l",),
        images=("i",),
    )
    assert read_facts(sent(facts_answer(facts))) == facts


def test_what_a_file_cannot_be_read_for_arrives_as_it_was_sent() -> None:
    error = Unsupported("The PDF is encrypted.")
    assert read_unsupported(sent(unsupported_answer(error))) == error


def test_a_pdf_job_carries_its_options_and_pages() -> None:
    options = ExtractOptions(formats=(Format.HTML, Format.LINKS))
    job = sent(pdf_job(b"%PDF", "https://e.org/a.pdf", options, 7))
    assert (job.kind, job.parts, job.header["max_pages"]) == ("pdf", (b"%PDF",), 7)
    assert read_options(job.header) == options


def test_an_invalid_request_arrives_as_it_was_sent() -> None:
    error = InvalidRequest(problems=(FieldProblem("includeTags", "Not valid: 'x'"),))
    assert read_invalid(sent(invalid_answer(error))) == error


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"not json",
        b'{"kind": "x"}',
        b'{"kind": 1, "parts": []}',
        b'{"kind": "x", "parts": ["a"]}',
        b'{"kind": "x", "parts": [-1]}',
        b'{"kind": "x", "parts": [99999999999]}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_a_header_that_is_none_is_refused(raw: bytes) -> None:
    with pytest.raises(MalformedMessage):
        read_header(raw)


def test_a_header_without_end_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        read_header_size(b"\xff\xff\xff\xff")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("present", ["text", "text"]),
        ("links", "https://e.org/"),
        ("images", [1]),
        ("metadata", {}),
        ("metadata", {"surprise": "x", "keywords": [], "images": [], "json_ld": []}),
        ("word_count", "1"),
        ("warnings", None),
    ],
)
def test_an_answer_of_another_shape_is_refused(field: str, value: Json) -> None:
    good = extraction_answer(Extraction(text="x"), b"")
    header = {**json.loads(json.dumps(good.header)), field: value}
    with pytest.raises(MalformedMessage):
        read_extraction(Message("extraction", header, good.parts), b"")
