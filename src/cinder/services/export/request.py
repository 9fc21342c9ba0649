"""What is asked of an export: the format, and what of each page goes into it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from cinder.errors import FieldProblem, InvalidRequest

T = TypeVar("T", bound=StrEnum)


class ExportFormat(StrEnum):
    """How pages are written."""

    JSONL = "jsonl"
    WARC = "warc"
    PARQUET = "parquet"

    @property
    def media_type(self) -> str:
        """The MIME type of the whole."""
        return _MEDIA_TYPES[self]

    @property
    def suffix(self) -> str:
        """How the name of a file in this format ends."""
        return ".warc.gz" if self is ExportFormat.WARC else f".{self}"


_MEDIA_TYPES = {
    ExportFormat.JSONL: "application/x-ndjson",
    ExportFormat.WARC: "application/gzip",
    ExportFormat.PARQUET: "application/vnd.apache.parquet",
}


class Extra(StrEnum):
    """What of a page is exported only where it is asked for."""

    HTML = "html"
    RAW = "raw"
    """What the server sent; a WARC has it anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """Which format, with what in it."""

    format: ExportFormat
    include: frozenset[Extra] = frozenset()
    include_errors: bool = False
    """Whether URLs that could not or must not be fetched are told, too."""

    @property
    def has_raw(self) -> bool:
        """Whether what the server sent goes into it."""
        return self.format is ExportFormat.WARC or Extra.RAW in self.include


def read_request(
    format_name: str, include: Collection[str] = (), *, include_errors: bool = False
) -> ExportRequest:
    """Return what a caller asks for in words.

    Raises:
        InvalidRequest: a word is not known; the message names those that are.
    """
    problems: list[FieldProblem] = []
    formats = _read_words("format", [format_name], ExportFormat, problems)
    extras = _read_words("include", include, Extra, problems)
    if problems:
        raise InvalidRequest(problems=tuple(problems))
    return ExportRequest(
        format=formats[0], include=frozenset(extras), include_errors=include_errors
    )


def _read_words(
    field: str, words: Iterable[str], kind: type[T], problems: list[FieldProblem]
) -> list[T]:
    known = {member.value: member for member in kind}
    found: list[T] = []
    for word in words:
        if word in known:
            found.append(known[word])
        else:
            message = f"unknown value {word[:50]!r}: use {' or '.join(known)}"
            problems.append(FieldProblem(field, message))
    return found
