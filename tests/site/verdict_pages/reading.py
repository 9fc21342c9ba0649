"""Reads the pages to be judged from their files.

A file holds many pages. Each begins with a line of five hashes and the page's name; lines of
`field: value` follow, an empty line, and the body, in which `@@name@@` stands for a frame.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cinder.models.document import VerdictKind
from tests.site.verdict_pages.frames import FRAMES, STORY

_FOLDER = Path(__file__).parent
_FRAME = re.compile(r"@@([a-z-]+)(?::(\d+))?@@")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictPage:
    """A page, how the site answers with it, and the verdict that it deserves."""

    name: str
    family: str
    is_kept_apart: bool
    verdict: VerdictKind
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    asked: str
    """The path to ask for it."""
    lands: str | None
    """The path that asking leads to by a redirect."""
    missing_bytes: int
    """How many bytes fewer are sent than the server says."""


@cache
def read_pages() -> tuple[VerdictPage, ...]:
    """Return all pages."""
    return tuple(
        page
        for folder in ("kept_apart", "tuning")
        for path in sorted((_FOLDER / folder).glob("*.txt"))
        for page in _pages_of(path)
    )


def _pages_of(path: Path) -> Iterator[VerdictPage]:
    for text in path.read_text(encoding="utf-8").split("##### ")[1:]:
        head, _, body = text.partition("\n\n")
        name, *lines = head.splitlines()
        pairs = [(field, value) for field, _, value in (line.partition(": ") for line in lines)]
        fields = dict(pairs)
        yield VerdictPage(
            name=name,
            family=fields["family"],
            is_kept_apart=path.parent.name == "kept_apart",
            verdict=VerdictKind(fields["verdict"]),
            status=int(fields["status"]),
            headers=tuple(_split(value) for field, value in pairs if field == "header"),
            body=_FRAME.sub(_expand, body.strip()).encode(),
            asked=fields.get("asked", f"/read/{name.encode().hex()}"),
            lands=f"{fields['lands']}?page={name}" if "lands" in fields else None,
            missing_bytes=int(fields.get("cut", "0")),
        )


def _split(header: str) -> tuple[str, str]:
    name, _, value = header.partition(": ")
    return name, value


def _expand(frame: re.Match[str]) -> str:
    if frame[1] == "story":
        return "".join(f"<p>{paragraph}</p>" for paragraph in STORY[: int(frame[2])])
    return FRAMES[frame[1]]
