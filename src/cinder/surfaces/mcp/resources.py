"""Resources: saved pages, listed newest first and read back by their URIs, and crawls."""

import base64
import json
import re
from datetime import UTC, datetime

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from cinder.app import App
from cinder.errors import CinderError, CrawlExpired, CrawlNotFound
from cinder.model.caller import Scope
from cinder.model.saved import SavedBody, SavedListing, format_timestamp, parse_latest_uri
from cinder.services.excerpt import Window, take_excerpt
from cinder.surfaces.caller import require_scope
from cinder.surfaces.job_answer import MAX_LIMIT, JobAnswers, Part
from cinder.surfaces.mcp.caller import caller_in
from cinder.surfaces.mcp.content import note_annotations
from cinder.surfaces.mcp.untrusted import META_KEY

PAGE_SIZE = 100

# A resource is what was saved, to the letter: clients store it, compare it and cite from it. So its
# text has no marks in it, and is declared untrusted beside it.
_UNTRUSTED: dict[str, object] = {META_KEY: True}
# What was read has no annotations in the protocol, unlike what is listed: they go here.
ANNOTATIONS_KEY = "cinder/annotations"
_MAX_NAME_CHARS = 100

SAVED_TEMPLATE = types.ResourceTemplate(
    name="saved-page",
    title="Saved page",
    uri_template="scrape://{+page}/{kind}_{timestamp}",
    description=(
        "A page as it was saved at a moment. page: host[:port]/path[?query]; kind: cleaned "
        "(markdown), raw, extracted or screenshot; timestamp: as in the savedUris of a scrape, or "
        "latest for the newest version, which can be subscribed to."
    ),
    annotations=note_annotations(),
)

CRAWL_TEMPLATE = types.ResourceTemplate(
    name="crawl",
    title="Crawl",
    uri_template="crawl://{id}{?offset}",
    description=(
        "How far a crawl is, and its pages from offset on, as JSON. Subscribe to it without offset "
        "to be told of new pages."
    ),
    mime_type="application/json",
    annotations=note_annotations(),
)

_CRAWL_URI = re.compile(r"crawl://([!-.0-~]{1,100})(?:\?offset=([0-9]{1,7}))?")


class Resources:
    """Answers the `resources/…` requests."""

    def __init__(self, app: App, max_chars: int) -> None:
        self._archive = app.archive
        self._jobs = app.jobs
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
        """List the forms that URIs of saved pages and of crawls have."""
        return types.ListResourceTemplatesResult(
            resource_templates=[SAVED_TEMPLATE, CRAWL_TEMPLATE]
        )

    async def read(
        self, context: ServerRequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return a saved body whole, or how far a crawl is.

        Raises:
            MCPError: there is none under this URI, or it is not a URI of this kind.
        """
        try:
            caller = require_scope(caller_in(context), Scope.READ)
            if crawl := parse_crawl_uri(params.uri):
                return await self._read_crawl(params.uri, *crawl, caller)
            body = await self._archive.read(params.uri, caller)
        except ValueError as error:
            raise _not_found(params.uri, str(error)) from None
        except (CrawlNotFound, CrawlExpired) as error:
            raise _not_found(params.uri, error.message) from None
        except CinderError as error:
            raise MCPError(types.INTERNAL_ERROR, error.message, {"uri": params.uri}) from error
        if body is None:
            message = "Nothing is saved under this URI; it may have expired. Scrape the page again."
            raise _not_found(params.uri, message)
        contents = [self._contents(body)]
        if parse_latest_uri(params.uri):
            return types.ReadResourceResult(contents=contents, ttl_ms=0)
        return types.ReadResourceResult(contents=contents)

    async def _read_crawl(
        self, uri: str, crawl_id: str, offset: int, caller: str
    ) -> types.ReadResourceResult:
        answers = JobAnswers(self._jobs, self._archive, caller)
        data = await answers.crawl_status(crawl_id, Part(offset, MAX_LIMIT, self._max_chars))
        text = json.dumps(data, ensure_ascii=False)
        # While it goes on, it is as it is now.
        modified = data.get("completedAt", format_timestamp(datetime.now(UTC)))
        meta = _meta(note_annotations().model_copy(update={"last_modified": modified}))
        contents = types.TextResourceContents(
            uri=uri, mime_type="application/json", text=text, meta=meta
        )
        # Unlike a saved version, it goes on.
        return types.ReadResourceResult(contents=[contents], ttl_ms=0)

    def _contents(self, body: SavedBody) -> types.TextResourceContents | types.BlobResourceContents:
        meta = _meta(note_annotations(body.saved_at))
        if body.data is not None:
            blob = base64.b64encode(body.data).decode()
            return types.BlobResourceContents(
                uri=body.uri, mime_type=body.mime, blob=blob, meta=meta
            )
        text = self._fit(body.text or "", body.url)
        return types.TextResourceContents(uri=body.uri, mime_type=body.mime, text=text, meta=meta)

    def _fit(self, text: str, url: str) -> str:
        excerpt = take_excerpt(text, Window(0, self._max_chars))
        if not excerpt.was_truncated:
            return text
        return (
            f"{excerpt.text}\n\n[Cut after {excerpt.end} of {excerpt.total} characters. For the "
            f"rest call the tool scrape with url {url} and startIndex {excerpt.end}.]"
        )


def parse_crawl_uri(uri: str) -> tuple[str, int] | None:
    """Return the crawl and the offset that a `crawl://` URI names; None for other URIs."""
    found = _CRAWL_URI.fullmatch(uri)
    return (found[1], int(found[2] or 0)) if found else None


def _meta(annotations: types.Annotations) -> dict[str, object]:
    told = annotations.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {**_UNTRUSTED, ANNOTATIONS_KEY: told}


def _describe(listing: SavedListing) -> types.Resource:
    return types.Resource(
        uri=listing.uri,
        name=_shortened(listing.title or listing.url),
        description=f"Saved from {listing.url}",
        meta=_UNTRUSTED,
        mime_type=listing.mime,
        size=listing.size,
        annotations=note_annotations(listing.saved_at),
    )


def _shortened(name: str) -> str:
    """Return a name in one line; a page may have written anything into its title."""
    line = " ".join(name.split())
    return line if len(line) <= _MAX_NAME_CHARS else f"{line[:_MAX_NAME_CHARS]}…"


def _read_cursor(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not cursor.isdecimal() or len(cursor) > 18:
        raise MCPError(types.INVALID_PARAMS, "Not a cursor of this list", {"cursor": cursor[:100]})
    return int(cursor)


def _not_found(uri: str, message: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, message, {"uri": uri})
