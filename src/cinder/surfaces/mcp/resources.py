"""Resources: saved pages, listed newest first and read back by their `scrape://` URIs."""

import base64

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from cinder.errors import CinderError
from cinder.model.caller import Scope
from cinder.model.saved import SavedBody, SavedListing
from cinder.services.archive import Archive
from cinder.services.excerpt import Window, take_excerpt
from cinder.surfaces.caller import require_scope
from cinder.surfaces.mcp.caller import caller_in
from cinder.surfaces.mcp.content import note_annotations
from cinder.surfaces.mcp.untrusted import META_KEY

PAGE_SIZE = 100

# A resource is what was saved, to the letter: clients store it, compare it and cite from it. So its
# text has no marks in it, and is declared untrusted beside it.
_UNTRUSTED: dict[str, object] = {META_KEY: True}

TEMPLATE = types.ResourceTemplate(
    name="saved-page",
    title="Saved page",
    uri_template="scrape://{+page}/{kind}_{timestamp}",
    description=(
        "A page as it was saved at a moment. page: host[:port]/path[?query]; kind: cleaned "
        "(markdown), raw, extracted or screenshot; timestamp: as in the savedUris of a scrape."
    ),
)


class Resources:
    """Answers the `resources/…` requests."""

    def __init__(self, archive: Archive, max_chars: int) -> None:
        self._archive = archive
        self._max_chars = max_chars

    async def list_saved(
        self, context: ServerRequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List saved pages, newest first."""
        before_id = _read_cursor(params.cursor if params else None)
        # One more than a page holds tells whether another follows.
        try:
            caller = require_scope(caller_in(context), Scope.READ)
            found = await self._archive.list_saved(caller, before_id=before_id, limit=PAGE_SIZE + 1)
        except CinderError as error:
            raise MCPError(types.INTERNAL_ERROR, error.message) from error
        page = found[:PAGE_SIZE]
        return types.ListResourcesResult(
            resources=[_describe(listing) for listing in page],
            next_cursor=str(page[-1].id) if len(found) > PAGE_SIZE else None,
        )

    async def list_templates(
        self, _context: ServerRequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """List the one form that URIs of saved pages have."""
        return types.ListResourceTemplatesResult(resource_templates=[TEMPLATE])

    async def read(
        self, context: ServerRequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return a saved body whole.

        Raises:
            MCPError: there is none under this URI, or it is not a URI of this kind.
        """
        try:
            caller = require_scope(caller_in(context), Scope.READ)
            body = await self._archive.read(params.uri, caller)
        except ValueError as error:
            raise _not_found(params.uri, str(error)) from None
        except CinderError as error:
            raise MCPError(types.INTERNAL_ERROR, error.message, {"uri": params.uri}) from error
        if body is None:
            message = "Nothing is saved under this URI; it may have expired. Scrape the page again."
            raise _not_found(params.uri, message)
        return types.ReadResourceResult(contents=[self._contents(body)])

    def _contents(self, body: SavedBody) -> types.TextResourceContents | types.BlobResourceContents:
        if body.data is not None:
            blob = base64.b64encode(body.data).decode()
            return types.BlobResourceContents(
                uri=body.uri, mime_type=body.mime, blob=blob, meta=_UNTRUSTED
            )
        text = self._fit(body.text or "", body.url)
        return types.TextResourceContents(
            uri=body.uri, mime_type=body.mime, text=text, meta=_UNTRUSTED
        )

    def _fit(self, text: str, url: str) -> str:
        excerpt = take_excerpt(text, Window(0, self._max_chars))
        if not excerpt.was_truncated:
            return text
        return (
            f"{excerpt.text}\n\n[Cut after {excerpt.end} of {excerpt.total} characters. For the "
            f"rest call the tool scrape with url {url} and startIndex {excerpt.end}.]"
        )


def _describe(listing: SavedListing) -> types.Resource:
    return types.Resource(
        uri=listing.uri,
        name=listing.title or listing.url,
        description=f"Saved from {listing.url}",
        mime_type=listing.mime,
        size=listing.size,
        annotations=note_annotations(listing.saved_at),
    )


def _read_cursor(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not cursor.isdecimal() or len(cursor) > 18:
        raise MCPError(types.INVALID_PARAMS, "Not a cursor of this list", {"cursor": cursor[:100]})
    return int(cursor)


def _not_found(uri: str, message: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, message, {"uri": uri})
