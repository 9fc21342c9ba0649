"""The description of /mcp for clients that get their tokens from an authorization server."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cinder.services.oauth import AccessTokens
from cinder.services.oauth.access_tokens import WELL_KNOWN
from cinder.surfaces.answers import json_response

_HEADERS = {"Cache-Control": "max-age=3600", "Access-Control-Allow-Origin": "*"}


def protected_resource_routes(access_tokens: AccessTokens | None) -> list[Route]:
    """Return the routes of the description: at the root, and for the resource's own path."""
    if access_tokens is None:
        return []

    async def describe(_request: Request) -> Response:
        return json_response(access_tokens.describe(), headers=_HEADERS)

    paths = dict.fromkeys((WELL_KNOWN, f"{WELL_KNOWN}/mcp", access_tokens.resource.metadata_path))
    return [Route(path, describe) for path in paths]
