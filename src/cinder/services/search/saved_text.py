"""What is kept of a page, for results whose summary does not tell enough."""

from typing import Protocol

from cinder.model.saved import SavedKind, parse_saved_uri
from cinder.services.archive import Archive

# A page may be kept in many forms; their texts differ little.
_MAX_ENTRIES = 5


class SavedTexts(Protocol):
    """Knows the text of pages that are kept."""

    async def find(self, url: str, caller: str) -> str | None:
        """Return the newest text of a page; None where none is kept for the caller.

        Raises:
            CacheFailed: the database could not be read.
        """
        ...


class ArchivedTexts:
    """Reads the archive."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    async def find(self, url: str, caller: str) -> str | None:
        """Return the newest text of a page; None where none is kept for the caller.

        Raises:
            CacheFailed: the database could not be read.
        """
        for entry in (await self._archive.list_entries(url))[:_MAX_ENTRIES]:
            _, kind = parse_saved_uri(entry.uri)
            if kind is SavedKind.CLEANED:
                body = await self._archive.read(entry.uri, caller)
                if body is not None and body.text is not None:
                    return body.text
        return None
