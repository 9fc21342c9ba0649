"""Builds the check of an authorization server's access tokens from the settings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cinder.app.settings import settings_errors
from cinder.config.settings import Settings
from cinder.egress.proxy import ForwardProxy
from cinder.errors import requires_extra
from cinder.fetch.http_client import ClientOptions, ProxiedClient
from cinder.models.url import parse_web_url

if TYPE_CHECKING:
    from cinder.services.oauth_tokens import AccessTokens


_MAX_ANSWER_BYTES = 1024 * 1024
_TIMEOUT_SECONDS = 10
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@asynccontextmanager
async def open_access_tokens(
    settings: Settings, proxy: ForwardProxy
) -> AsyncIterator["AccessTokens | None"]:
    """Open the check of access tokens of the configured issuer, if any.

    Only its client may connect to the address in the settings, if that is private.

    Raises:
        SettingsError: an address cannot be used.
    """
    oauth = settings.oauth
    if oauth.issuer is None:
        yield None
        return
    # The library is slow to import, and few servers need it.
    with requires_extra("oauth"):
        from cinder.services.oauth_tokens import (  # noqa: PLC0415
            AccessTokens,
            IssuerKeys,
            ProtectedResource,
        )

    with settings_errors():
        # Unchanged: tokens must name it exactly.
        issuer, url = oauth.issuer, oauth.resource or ""
        parts = urlsplit(issuer)
        is_local = parts.scheme == "http" and parts.hostname in _LOOPBACK
        if not (parts.scheme == "https" or is_local) or parts.query or parts.fragment:
            raise ValueError("oauth.issuer: It must be an https URL without parameters")
        home = parse_web_url(issuer)
        parts = urlsplit(url)
        is_web = parts.scheme in ("http", "https") and parts.hostname
        if not is_web or parts.query or parts.fragment:
            raise ValueError(
                "oauth.resource: Set it to the URL under which clients reach /mcp, such as "
                "https://cinder.example/mcp; tokens must be made for it"
            )
        client = ProxiedClient(
            proxy,
            ClientOptions(
                max_concurrency=1,
                timeout_seconds=_TIMEOUT_SECONDS,
                max_body_bytes=_MAX_ANSWER_BYTES,
                accepts_packed=True,
            ),
            homes=(home,),
            ca_file=settings.egress.ca_file,
        )
    async with client:
        resource = ProtectedResource(url=url, scope_prefix=oauth.scope_prefix)
        yield AccessTokens(IssuerKeys(client, issuer), resource)
