"""Messages between the sandbox and its child processes: a JSON header, then raw byte parts.

A frame is the header's length (four bytes, big-endian), the header, and the parts, whose lengths
stand in the header. Nothing of it can run: whoever reads an answer gets plain data or an error.
"""

import json
import struct
from dataclasses import dataclass, fields

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

_PREFIX = struct.Struct(">I")
PREFIX_BYTES = _PREFIX.size
MAX_FRAME_BYTES = 512 * 1024 * 1024

_MAX_MESSAGE_CHARS = 1_000
_TEXT_FIELDS = ("text", "markdown", "html")


class MalformedMessage(ValueError):
    """The other side sent something that is no message."""


@dataclass(frozen=True, slots=True)
class Message:
    """A header, whose `kind` says what the message is, and its parts."""

    kind: str
    header: dict[str, Json]
    parts: tuple[bytes, ...] = ()

    def frame(self) -> list[bytes]:
        """Return the bytes to send, in pieces."""
        sizes: list[Json] = [len(part) for part in self.parts]
        header = json.dumps({**self.header, "kind": self.kind, "parts": sizes}).encode()
        return [_PREFIX.pack(len(header)), header, *self.parts]


def read_header_size(prefix: bytes) -> int:
    """Return the length of the header that follows a frame's first bytes.

    Raises:
        MalformedMessage: it is larger than any message may be.
    """
    (size,) = _PREFIX.unpack(prefix)
    if size > MAX_FRAME_BYTES:
        raise MalformedMessage("The header is too long")
    return int(size)


def read_header(raw: bytes) -> tuple[str, dict[str, Json], list[int]]:
    """Return a header's kind, its fields, and the lengths of the parts that follow.

    Raises:
        MalformedMessage: it is no header, or announces more than a message may hold.
    """
    try:
        header = json.loads(raw)
        sizes = [int(size) for size in header.pop("parts")]
        kind = _text(header.pop("kind"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        raise MalformedMessage("The header cannot be read") from exc
    if min(sizes, default=0) < 0 or sum(sizes) > MAX_FRAME_BYTES:
        raise MalformedMessage("The parts are too long")
    return kind, header, sizes


def extract_job(
    body: bytes,
    content_type: str,
    url: str,
    options: ExtractOptions,
    unseen: tuple[HiddenPart, ...] = (),
) -> Message:
    """Ask for a page to be turned into content."""
    header = _write_options(options) | {"content_type": content_type, "url": url}
    header["unseen"] = [[part.place, part.way] for part in unseen]
    return Message("extract", header, (body,))


def read_unseen(header: dict[str, Json]) -> tuple[HiddenPart, ...]:
    """Return the parts of its page that nobody sees, as an extract job carries them."""
    pairs = map(_items, _items(header["unseen"]))
    return tuple(HiddenPart(_number(place), _text(way)) for place, way in pairs)


def pdf_job(body: bytes, url: str, options: ExtractOptions, max_pages: int) -> Message:
    """Ask for a PDF to be turned into content."""
    header = _write_options(options) | {"url": url, "max_pages": max_pages}
    return Message("pdf", header, (body,))


def _write_options(options: ExtractOptions) -> dict[str, Json]:
    content = options.content
    return {
        "formats": [str(format_) for format_ in options.formats],
        "clean": content.clean,
        "only_main_content": content.only_main_content,
        "include_tags": list(content.include_tags),
        "exclude_tags": list(content.exclude_tags),
        "strip_chrome_tags": options.strip_chrome_tags,
        "remove_base64_images": options.remove_base64_images,
    }


def read_options(header: dict[str, Json]) -> ExtractOptions:
    """Return the options that an extract job carries."""
    return ExtractOptions(
        formats=tuple(Format(name) for name in _texts(header["formats"])),
        content=ContentOptions(
            clean=bool(header["clean"]),
            only_main_content=bool(header["only_main_content"]),
            include_tags=_texts(header["include_tags"]),
            exclude_tags=_texts(header["exclude_tags"]),
        ),
        strip_chrome_tags=bool(header["strip_chrome_tags"]),
        remove_base64_images=bool(header["remove_base64_images"]),
    )


def unparsed_job(body: bytes, content_type: str, options: ExtractOptions, reason: str) -> Message:
    """Ask for the bare text of a page that could not be turned into content."""
    header: dict[str, Json] = {
        "content_type": content_type,
        "wants_markdown": options.wants_markdown,
        "reason": reason,
    }
    return Message("unparsed", header, (body,))


def inspect_job(html: str, base_url: str) -> Message:
    """Ask for the facts about an HTML string."""
    return Message("inspect", {"base_url": base_url}, (_bytes(html),))


def extraction_answer(extraction: Extraction, body: bytes) -> Message:
    """Carry content back; the long texts travel as parts, which need no quoting.

    The page's own text does not travel where it is the body that the job came with.
    """
    texts = {name: getattr(extraction, name) for name in _TEXT_FIELDS}
    parts = {name: _bytes(text) for name, text in texts.items() if text is not None}
    is_body = parts.get("text") == body
    if is_body:
        del parts["text"]
    header: dict[str, Json] = {
        "present": list(parts),
        "text_is_body": is_body,
        "links": None if extraction.links is None else list(extraction.links),
        "images": None if extraction.images is None else list(extraction.images),
        "metadata": {f.name: getattr(extraction.metadata, f.name) for f in fields(PageMetadata)},
        "word_count": extraction.word_count,
        "token_count": extraction.token_count,
        "empty_evidence": extraction.empty_evidence,
        "is_partial": extraction.is_partial,
        "warnings": list(extraction.warnings),
    }
    return Message("extraction", header, tuple(parts.values()))


def read_extraction(message: Message, body: bytes) -> Extraction:
    """Return the content that an answer carries, to a job that came with this body.

    Raises:
        MalformedMessage: the answer has not the shape of one.
    """
    header = message.header
    try:
        parts = [part.decode() for part in message.parts]
        texts = dict(zip(_texts(header["present"]), parts, strict=True))
        if header["text_is_body"]:
            texts["text"] = body.decode()
        return Extraction(
            text=texts.get("text"),
            markdown=texts.get("markdown"),
            html=texts.get("html"),
            links=_texts_or_none(header["links"]),
            images=_texts_or_none(header["images"]),
            metadata=_read_metadata(header["metadata"]),
            word_count=_number(header["word_count"]),
            token_count=_number(header["token_count"]),
            empty_evidence=_text(header["empty_evidence"]),
            is_partial=bool(header["is_partial"]),
            warnings=_texts(header["warnings"]),
        )
    except (KeyError, TypeError, ValueError) as exc:
        raise MalformedMessage("The extraction cannot be read") from exc


def facts_answer(facts: HtmlFacts) -> Message:
    """Carry the facts about an HTML string back."""
    header: dict[str, Json] = {f.name: getattr(facts, f.name) for f in fields(HtmlFacts)}
    header["headings"] = [[heading.level, heading.text] for heading in facts.headings]
    return Message("facts", header)


def read_facts(message: Message) -> HtmlFacts:
    """Return the facts that an answer carries.

    Raises:
        MalformedMessage: the answer has not the shape of one.
    """
    header = message.header
    try:
        return HtmlFacts(
            title=_text(header["title"]),
            headings=tuple(_read_heading(item) for item in _items(header["headings"])),
            paragraph_count=_number(header["paragraph_count"]),
            link_count=_number(header["link_count"]),
            image_count=_number(header["image_count"]),
            word_count=_number(header["word_count"]),
            content_hash=_text(header["content_hash"]),
            meta=_text_table(header["meta"]),
            links=_texts(header["links"]),
            images=_texts(header["images"]),
        )
    except (KeyError, TypeError, ValueError) as exc:
        raise MalformedMessage("The facts cannot be read") from exc


def invalid_answer(error: InvalidRequest) -> Message:
    """Carry back that the request itself was wrong."""
    return Message("invalid", {"problems": [[p.field, p.message] for p in error.problems]})


def read_invalid(message: Message) -> InvalidRequest:
    """Return the error that an answer carries.

    Raises:
        MalformedMessage: the answer has not the shape of one.
    """
    try:
        pairs = [_texts(pair) for pair in _items(message.header["problems"])]
        return InvalidRequest(problems=tuple(FieldProblem(name, said) for name, said in pairs))
    except (KeyError, TypeError, ValueError) as exc:
        raise MalformedMessage("The error cannot be read") from exc


def unsupported_answer(error: Unsupported) -> Message:
    """Carry back that the file cannot be read."""
    return Message("unsupported", {"message": error.message})


def read_unsupported(message: Message) -> Unsupported:
    """Return the error that an answer carries.

    Raises:
        MalformedMessage: the answer has not the shape of one.
    """
    try:
        return Unsupported(_text(message.header["message"])[:_MAX_MESSAGE_CHARS])
    except (KeyError, TypeError) as exc:
        raise MalformedMessage("The error cannot be read") from exc


def _read_metadata(value: Json) -> PageMetadata:
    table = _table(value)
    plain = {name: said for name, said in table.items() if isinstance(said, str)}
    return PageMetadata(
        **plain,
        keywords=_texts(table["keywords"]),
        images=_texts(table["images"]),
        open_graph=_text_table(table["open_graph"]),
        json_ld=tuple(_items(table["json_ld"])),
        page_count=_number_or_none(table["page_count"]),
    )


def _read_heading(value: Json) -> HtmlHeading:
    level, text = _items(value)
    return HtmlHeading(_number(level), _text(text))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value


def _number(value: Json) -> int:
    if not isinstance(value, int):
        raise TypeError("number expected")
    return value


def _number_or_none(value: Json) -> int | None:
    return None if value is None else _number(value)


def _items(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise TypeError("list expected")
    return value


def _table(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise TypeError("table expected")
    return value


def _texts(value: Json) -> tuple[str, ...]:
    items = _items(value)
    # A page has hundreds of links: their types are looked at all at once.
    if not {*map(type, items)} <= {str}:
        raise TypeError("texts expected")
    return tuple(map(str, items))


def _texts_or_none(value: Json) -> tuple[str, ...] | None:
    return None if value is None else _texts(value)


def _text_table(value: Json) -> dict[str, str]:
    return {name: _text(said) for name, said in _table(value).items()}
