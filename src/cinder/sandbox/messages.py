"""Messages between the sandbox and its child processes: length-framed MessagePack.

A frame is the lengths of kind and content (5 bytes, big-endian), the kind, and the content.
Decoding checks every type and runs no code: a compromised child can only send plain data.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import msgspec
from msgspec.msgpack import Decoder, Encoder

from cinder.documents.stored_texts import are_sound, prepare_texts
from cinder.html.bombs import UnparsedFormats
from cinder.models.document import Extraction, HiddenPart, Json, StoredForm, StoredTexts
from cinder.models.request import ExtractOptions

_PREFIX = struct.Struct(">BI")
PREFIX_BYTES = _PREFIX.size
MAX_FRAME_BYTES = 512 * 1024 * 1024

_ENCODER = Encoder()
_DECODERS: dict[object, Decoder[Any]] = {}  # Any: each type has its own
# MessagePack content of the types below never begins with one of these.
_JSON_STARTS = (b"{", b"[", b'"')

T = TypeVar("T")


class MalformedMessage(ValueError):
    """The other side sent something that is no message."""


@dataclass(frozen=True, slots=True)
class Message:
    """An encoded value, and the kind that names its type."""

    kind: str
    content: bytes

    @classmethod
    def of(cls, kind: str, value: object) -> "Message":
        """Encode a value.

        MessagePack has neither lone surrogates nor integers of more than 64 bits, which pages can
        contain. Values with those are sent as JSON, with `?` for each surrogate.
        """
        try:
            return cls(kind, _ENCODER.encode(value))
        except (UnicodeEncodeError, OverflowError):
            text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
            return cls(kind, text.encode("utf-8", "replace"))

    def read(self, type_: type[T]) -> T:
        """Decode the value.

        Raises:
            MalformedMessage: it is not of this type.
        """
        try:
            if self.content.startswith(_JSON_STARTS):
                return msgspec.convert(json.loads(self.content), type_)
            decoder: Decoder[T] = _DECODERS.get(type_) or Decoder(type_)
            _DECODERS[type_] = decoder
            return decoder.decode(self.content)
        except (msgspec.MsgspecError, ValueError, RecursionError) as exc:
            raise MalformedMessage(f"The message '{self.kind}' cannot be decoded") from exc

    def frame(self) -> list[bytes]:
        """Return the bytes to send, in pieces."""
        kind = self.kind.encode()
        return [_PREFIX.pack(len(kind), len(self.content)), kind, self.content]


def read_sizes(prefix: bytes) -> tuple[int, int]:
    """Return the lengths of the kind and the content that follow a frame's first bytes.

    Raises:
        MalformedMessage: the content exceeds the limit.
    """
    kind_bytes, content_bytes = _PREFIX.unpack(prefix)
    if content_bytes > MAX_FRAME_BYTES:
        raise MalformedMessage("The content is too long")
    return kind_bytes, content_bytes


class SandboxJob(msgspec.Struct, frozen=True):
    """A request to a child process."""

    kind: ClassVar[str]


class ExtractJob(SandboxJob, frozen=True):
    """Turn a page into content."""

    kind = "extract"

    body: bytes
    content_type: str
    url: str
    options: ExtractOptions
    unseen: tuple[HiddenPart, ...] = ()
    stored_form: StoredForm | None = None
    """How the store writes the texts; None where they are not stored."""


class PdfJob(SandboxJob, frozen=True):
    """Turn a PDF into content."""

    kind = "pdf"

    body: bytes
    url: str
    options: ExtractOptions
    max_pages: int


class UnparsedJob(SandboxJob, frozen=True):
    """Return the bare text and the links of a page that could not be turned into content."""

    kind = "unparsed"

    body: bytes
    content_type: str
    url: str
    formats: UnparsedFormats
    reason: str


class InspectJob(SandboxJob, frozen=True):
    """Return the facts about an HTML string."""

    kind = "inspect"

    html: str
    base_url: str


class StylesheetsJob(SandboxJob, frozen=True):
    """List the style sheets that a page links to."""

    kind = "stylesheets"

    body: bytes
    content_type: str
    url: str


class BrandingJob(SandboxJob, frozen=True):
    """Read a page's branding, from its style sheets or from the styles a browser computed."""

    kind = "branding"

    body: bytes
    content_type: str
    url: str
    sheets: tuple[str, ...]
    samples: Mapping[str, Json] | None


class CompareJob(SandboxJob, frozen=True):
    """Compare two texts."""

    kind = "compare"

    before: str
    after: str


PAGE_JOBS: Mapping[str, type[SandboxJob]] = {
    job.kind: job
    for job in (
        ExtractJob,
        PdfJob,
        UnparsedJob,
        InspectJob,
        StylesheetsJob,
        BrandingJob,
        CompareJob,
    )
}


class ExtractionAnswer(msgspec.Struct, frozen=True):
    """The content of a page; its text is not sent where that is the body of the job."""

    extraction: Extraction
    text_is_body: bool
    stored: StoredTexts | None = None

    @classmethod
    def of(
        cls, extraction: Extraction, body: bytes, form: StoredForm | None = None
    ) -> "ExtractionAnswer":
        """Return the answer to a job with this body, with its texts in the form of the store."""
        text = extraction.text
        is_body = text is not None and text.encode("utf-8", "replace") == body
        stored = None if form is None else prepare_texts(extraction, form)
        return cls(replace(extraction, text=None) if is_body else extraction, is_body, stored)

    def restore(self, body: bytes) -> Extraction:
        """Return the content, given the body of the job."""
        text = body.decode("utf-8", "replace") if self.text_is_body else self.extraction.text
        # A copy begins with nothing derived: readers trust what they find there.
        content = replace(self.extraction, text=text)
        if self.stored is not None and are_sound(self.stored, content):
            content.keep_stored(self.stored)
        return content
