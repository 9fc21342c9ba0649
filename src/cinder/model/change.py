"""Changes: how a page differs from its last saved version."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


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
