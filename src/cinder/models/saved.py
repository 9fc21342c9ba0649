"""Saved documents, their versions and `scrape://` URIs, and the changes between versions."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import can_ada

from cinder.models.document import Document

SCHEME = "scrape://"
OWN_KEY_PREFIX = "own-"
"""How the cache keys begin of what a caller's own headers, selectors, actions or prompt shaped."""

LATEST = "latest"
"""Stands for the timestamp in the URI of a page's newest version, whichever that is."""


class SavedKind(StrEnum):
    """Which of a saved version's bodies a URI names."""

    RAW = "raw"
    CLEANED = "cleaned"
    EXTRACTED = "extracted"
    SCREENSHOT = "screenshot"


# The body a reader most likely wants comes first.
PRIMARY_ORDER = (SavedKind.EXTRACTED, SavedKind.CLEANED, SavedKind.RAW, SavedKind.SCREENSHOT)


@dataclass(frozen=True, slots=True)
class Version:
    """One saved state of one page: the page's address within `scrape://`, and when it was saved.

    No two saves share both: the store moves the later one on by a millisecond.
    """

    place: str
    saved_at: datetime

    def uri(self, kind: SavedKind) -> str:
        """Return the URI of one of this version's bodies."""
        return f"{SCHEME}{self.place}/{kind}_{format_timestamp(self.saved_at)}"


@dataclass(frozen=True, slots=True)
class SavedDocument:
    """A document as the store keeps it, with the version it was saved under."""

    document: Document
    version: Version
    cache_key: str

    @property
    def uris(self) -> dict[SavedKind, str]:
        """The URI of every body this version has."""
        return {kind: self.version.uri(kind) for kind in saved_kinds(self.document)}

    @property
    def primary_uri(self) -> str:
        """The URI of the body a reader most likely wants."""
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
    """A saved version as a list shows it: its primary body, without the body itself."""

    id: int
    uri: str
    url: str
    title: str | None
    mime: str
    size: int
    saved_at: datetime


def saved_kinds(document: Document) -> list[SavedKind]:
    """Return which bodies a document has to keep."""
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
    """Return a page's address within `scrape://`: `host[:port]/path[?query]`.

    A plain-http page keeps its port 80, so that it stays apart from its https namesake.
    """
    parsed = can_ada.parse(url)
    port = ":80" if parsed.protocol == "http:" and not parsed.port else ""
    path = parsed.pathname.rstrip("/")
    return f"{parsed.host}{port}{path}{parsed.search}"


def parse_saved_uri(uri: str) -> tuple[Version, SavedKind]:
    """Return the version and the kind of body that a `scrape://` URI names.

    Raises:
        ValueError: it is not such a URI; the message shows the right form.
    """
    place, _, leaf = uri.removeprefix(SCHEME).rpartition("/")
    kind, _, timestamp = leaf.partition("_")
    try:
        if not uri.startswith(SCHEME) or not place or not timestamp.endswith("Z"):
            raise ValueError(uri)
        return Version(place, datetime.fromisoformat(timestamp)), SavedKind(kind)
    except ValueError:
        form = f"{SCHEME}host/path/kind_timestamp"
        raise ValueError(f"Not a saved page's URI: {uri[:200]!r}. It looks like {form}") from None


def parse_latest_uri(uri: str) -> tuple[str, SavedKind] | None:
    """Return the place and the kind that the URI of a page's newest version names.

    None where the URI is not of the form `scrape://host/path/kind_latest`.
    """
    place, _, leaf = uri.removeprefix(SCHEME).rpartition("/")
    kind, _, moment = leaf.partition("_")
    if not uri.startswith(SCHEME) or not place or moment != LATEST:
        return None
    return (place, SavedKind(kind)) if kind in list(SavedKind) else None


def format_timestamp(moment: datetime) -> str:
    """Return a moment as cinder writes it everywhere: UTC, milliseconds, `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class ChangeStatus(StrEnum):
    """What has become of a page since it was last saved."""

    NEW = "new"
    SAME = "same"
    CHANGED = "changed"
    REMOVED = "removed"


class BlockChangeKind(StrEnum):
    """What happened to one block of a text."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockChange:
    """One paragraph, heading, list item, table row or code block that is not as it was."""

    kind: BlockChangeKind
    section: str
    """The heading it stands under; empty before the first."""
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDiff:
    """The difference of two texts, as a unified diff and block by block."""

    unified: str
    blocks: tuple[BlockChange, ...]
    is_cut: bool = False
    """Whether there is more to it than was written down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What comparing two texts showed; white space does not count."""

    is_same: bool
    diff: TextDiff | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChange:
    """What has become of a page since the version it was compared with."""

    status: ChangeStatus
    previous_at: datetime | None = None
    """When that version was got, or last confirmed; None where there was none."""
    previous_uri: str | None = None
    diff: TextDiff | None = None
    warning: str | None = None
