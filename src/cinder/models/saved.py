"""Saved documents, their versions and `scrape://` URIs, and the changes between versions."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import can_ada

from cinder.models.document import Document

SCHEME = "scrape://"
OWN_KEY_PREFIX = "own-"
"""The prefix of the cache keys of documents that a caller's headers, actions or prompt shaped."""

LATEST = "latest"
"""Replaces the timestamp in the URI of a page's newest version."""


class SavedKind(StrEnum):
    """The body of a saved version that a URI names."""

    RAW = "raw"
    CLEANED = "cleaned"
    EXTRACTED = "extracted"
    SCREENSHOT = "screenshot"


# The most useful body comes first.
PRIMARY_ORDER = (SavedKind.EXTRACTED, SavedKind.CLEANED, SavedKind.RAW, SavedKind.SCREENSHOT)


@dataclass(frozen=True, slots=True)
class Version:
    """One saved version of a page: its path within `scrape://`, and when it was saved.

    A version is unique: the store moves a later save of the same time on by a millisecond.
    """

    place: str
    saved_at: datetime

    def uri(self, kind: SavedKind) -> str:
        """Return the URI of one of this version's bodies."""
        return f"{SCHEME}{self.place}/{kind}_{format_timestamp(self.saved_at)}"


@dataclass(frozen=True, slots=True)
class SavedDocument:
    """A stored document with its version."""

    document: Document
    version: Version
    cache_key: str

    @property
    def uris(self) -> dict[SavedKind, str]:
        """The URIs of all bodies of this version."""
        return {kind: self.version.uri(kind) for kind in saved_kinds(self.document)}

    @property
    def primary_uri(self) -> str:
        """The URI of the most useful body."""
        kinds = saved_kinds(self.document)
        kind = next((kind for kind in PRIMARY_ORDER if kind in kinds), SavedKind.RAW)
        return self.version.uri(kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedBody:
    """One body of a saved version: text, or bytes where it is media."""

    uri: str
    url: str
    title: str | None
    mime: str
    saved_at: datetime
    text: str | None = None
    data: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedListing:
    """A saved version in a list: the facts of its primary body."""

    id: int
    uri: str
    url: str
    title: str | None
    mime: str
    size: int
    saved_at: datetime


def saved_kinds(document: Document) -> list[SavedKind]:
    """Return the kinds of body that a document has."""
    bodies = {
        SavedKind.RAW: document.content.text is not None
        or document.media is not None
        or document.original is not None,
        SavedKind.CLEANED: document.content.markdown is not None,
        SavedKind.EXTRACTED: document.extracted is not None,
        SavedKind.SCREENSHOT: document.screenshot is not None,
    }
    return [kind for kind, is_there in bodies.items() if is_there]


def page_path(url: str) -> str:
    """Return a page's path within `scrape://`: `host[:port]/path[?query]`.

    An http page keeps its port 80, which distinguishes it from the https page of the same path.
    """
    parsed = can_ada.parse(url)
    port = ":80" if parsed.protocol == "http:" and not parsed.port else ""
    path = parsed.pathname.rstrip("/")
    return f"{parsed.host}{port}{path}{parsed.search}"


def parse_saved_uri(uri: str) -> tuple[Version, SavedKind]:
    """Return the version and the kind of body that a `scrape://` URI names.

    Raises:
        ValueError: it is not such a URI; the message shows the correct form.
    """
    path, _, leaf = uri.removeprefix(SCHEME).rpartition("/")
    kind, _, timestamp = leaf.partition("_")
    try:
        if not uri.startswith(SCHEME) or not path or not timestamp.endswith("Z"):
            raise ValueError(uri)
        return Version(path, datetime.fromisoformat(timestamp)), SavedKind(kind)
    except ValueError:
        form = f"{SCHEME}host/path/kind_timestamp"
        raise ValueError(f"Not a saved page's URI: {uri[:200]!r}. It looks like {form}") from None


def parse_latest_uri(uri: str) -> tuple[str, SavedKind] | None:
    """Return the path and the kind that the URI of a page's newest version names.

    None where the URI is not of the form `scrape://host/path/kind_latest`.
    """
    path, _, leaf = uri.removeprefix(SCHEME).rpartition("/")
    kind, _, timestamp = leaf.partition("_")
    if not uri.startswith(SCHEME) or not path or timestamp != LATEST:
        return None
    return (path, SavedKind(kind)) if kind in list(SavedKind) else None


def format_timestamp(time: datetime) -> str:
    """Return a time as cinder writes it everywhere: UTC, milliseconds, `Z`."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class ChangeStatus(StrEnum):
    """How a page has changed since it was last saved."""

    NEW = "new"
    SAME = "same"
    CHANGED = "changed"
    REMOVED = "removed"


class BlockChangeKind(StrEnum):
    """How one block of a text has changed."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockChange:
    """A changed paragraph, heading, list item, table row or code block."""

    kind: BlockChangeKind
    section: str
    """The heading above it; empty before the first."""
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDiff:
    """The difference between two texts, as a unified diff and by block."""

    unified: str
    blocks: tuple[BlockChange, ...]
    is_cut: bool = False
    """Whether the diff is longer than the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of comparing two texts; white space is ignored."""

    is_same: bool
    diff: TextDiff | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChange:
    """How a page has changed since an earlier version."""

    status: ChangeStatus
    previous_at: datetime | None = None
    """When the earlier version was fetched or last confirmed; None where there is none."""
    previous_uri: str | None = None
    diff: TextDiff | None = None
    warning: str | None = None
