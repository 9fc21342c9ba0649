"""Authentication: the middleware, tokens, browser sessions, the login page, OAuth metadata."""

import asyncio
import hashlib
import hmac
import re
import time
from collections.abc import Iterable
from contextlib import ExitStack
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cinder.api.requests import error_response, json_response, set_caller
from cinder.errors import (
    CinderError,
    ContentTooLarge,
    Forbidden,
    Overloaded,
    RateLimited,
    ScrapeTimeout,
    Unauthorized,
)
from cinder.models.caller import OAUTH_METADATA_PATH, OWNER_CALLER, Caller
from cinder.server.request_limits import BodyLimits, BodyRefused, LimitedBody, connection_of
from cinder.services.auth import TokenService
from cinder.services.rate_limits import (
    RateLimitBucket,
    RateLimitStatus,
    is_loopback,
    rate_limit_key,
)

if TYPE_CHECKING:
    # The library is slow to import, and few servers need it.
    from cinder.services.oauth_tokens import AccessTokens

SESSION_COOKIE = "cinder_session"
POLICY_VIOLATION = 1008
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
OPEN_PATHS = frozenset({"/healthz", "/login"})
# Monitoring requests it often.
_UNCOUNTED_PATH = "/healthz"
MCP_PATH = "/mcp"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/]+)(?::[0-9]{1,5})?")
SESSION_SECONDS = 7 * 24 * 3600
# Responses may contain what a scraped page wrote.
_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)

# Pages for people: a browser session gives access to these, but not to the API.
_BROWSER_PATHS = ("/docs", "/openapi.json")


_MAX_TIMESTAMP_DIGITS = 12
_ANONYMOUS = Caller(id="", scopes=frozenset())


class Authenticator:
    """Checks the owner's token, browser sessions, and the tokens of other callers."""

    def __init__(self, token: str | None) -> None:
        self.are_required = token is not None
        self._token = (token or "").encode()

    def make_session(self) -> str:
        """Return a session, which a browser holds instead of the token."""
        return self._session_until(int(time.time()) + SESSION_SECONDS)

    def _session_until(self, timestamp: int) -> str:
        message = f"cinder browser session until {timestamp}".encode()
        return f"{timestamp}.{hmac.new(self._token, message, hashlib.sha256).hexdigest()}"

    def matches(self, token: str) -> bool:
        """Whether this is the owner's token."""
        return hmac.compare_digest(token.encode(), self._token)

    async def authenticate(self, request: Request) -> Caller | None:
        """Return the caller of a request; None if it is not authenticated."""
        path: str = request.scope["path"]
        if not self.are_required:
            return OWNER_CALLER
        if is_open_path(path):
            return _ANONYMOUS
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return await self._identify(token.strip(), request)
        if request.method != "GET" or not is_browser_path(path):
            return None
        session = request.cookies.get(SESSION_COOKIE, "")
        until = session.partition(".")[0]
        if not (until.isascii() and until.isdecimal() and len(until) <= _MAX_TIMESTAMP_DIGITS):
            return None
        is_ours = hmac.compare_digest(session.encode(), self._session_until(int(until)).encode())
        return OWNER_CALLER if is_ours and time.time() < int(until) else None

    async def _identify(self, secret: str, request: Request) -> Caller | None:
        if self.matches(secret):
            return OWNER_CALLER
        callers: TokenService = request.app.state.callers
        access_tokens = access_tokens_for(request)
        caller = await callers.identify(secret)
        if caller is None and access_tokens is not None:
            caller = await access_tokens.identify(secret)
        return caller


def is_open_path(path: str) -> bool:
    """Whether a path needs no token."""
    return path in OPEN_PATHS or path.startswith(OAUTH_METADATA_PATH)


def access_tokens_for(request: Request) -> "AccessTokens | None":
    """Return the check of an authorization server's tokens, which are valid for MCP only."""
    is_for_mcp = request.scope["path"] == MCP_PATH
    found: AccessTokens | None = request.app.state.access_tokens if is_for_mcp else None
    return found


def is_browser_path(path: str) -> bool:
    """Whether a path is a page for people rather than part of the API."""
    return path == "/" or path.startswith(_BROWSER_PATHS)


class AuthMiddleware:
    """Passes authenticated requests on to the app, and refuses others."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: Authenticator,
        host_names: Iterable[str],
        body_limits: BodyLimits,
    ) -> None:
        self._app = app
        self._host_names = frozenset({*LOOPBACK_NAMES, *host_names})
        self._tokens = tokens
        self._body_limits = body_limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
            return
        request, send = Request(scope), _with_headers(_SECURITY_HEADERS, send)
        try:
            caller = await self._identify(request)
            status = await _hit_rate_limits(request, caller)
        except Unauthorized:
            await _unauthorized_response(request)(scope, receive, send)
            return
        except CinderError as error:
            await error_response(error)(scope, receive, send)
            return
        set_caller(request, caller)
        if status is not None:
            facts = status.headers.items()
            send = _with_headers([(n.lower().encode(), v.encode()) for n, v in facts], send)
        connection, length = connection_of(scope), request.headers.get("content-length", "0")
        with ExitStack() as serving:
            try:
                # An authenticated request keeps its connection open.
                if connection is not None and not is_open_path(scope["path"]):
                    serving.enter_context(connection.serve(address_of(request)))
                self._body_limits.require_size(int(length) if length.isdecimal() else 0)
            except (Overloaded, ContentTooLarge) as error:
                await error_response(error)(scope, receive, send)
                return
            await self._serve_bounded(scope, receive, send)

    async def _identify(self, request: Request) -> Caller:
        """Return the caller of a request.

        Raises:
            CinderError: the request is refused.
        """
        if not self._tokens.are_required:
            # The Host header must name this server: this stops DNS rebinding.
            host = request.headers.get("host", "").lower()
            named = _HOST.fullmatch(host)
            if named is None or not self._host_names & {named[1], host}:
                raise Forbidden
            # Pages of other sites are refused; MCP checks origins itself.
            origin = request.headers.get("origin")
            is_same = request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")
            if origin is not None:
                is_same = origin.lower() in (f"http://{host}", f"https://{host}")
            if request.scope["path"] != MCP_PATH and not is_same:
                raise Forbidden
        limits, address = request.app.state.rate_limits, address_of(request)
        if not is_loopback(address) and not is_open_path(request.scope["path"]):
            await limits.require_left(RateLimitBucket.FAILED_LOGIN, rate_limit_key(address))
        caller = await self._tokens.authenticate(request)
        if caller is None:
            await limits.hit(RateLimitBucket.FAILED_LOGIN, rate_limit_key(address))
            raise Unauthorized
        return caller

    async def _serve_bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_answered = False

        async def noted(message: Message) -> None:
            nonlocal has_answered
            has_answered = True
            await send(message)

        try:
            await self._app(scope, LimitedBody(receive, self._body_limits).receive, noted)
        except BodyRefused as refused:
            # The rest of a large body is discarded; a late body closes the connection.
            is_late = isinstance(refused.error, ScrapeTimeout)
            headers = {"Connection": "close"} if is_late else None
            if not has_answered:
                await error_response(refused.error, headers)(scope, receive, send)
        except asyncio.CancelledError:
            # Only a server that stops cancels a request. The task ends here, with a response.
            if has_answered:
                raise
            await error_response(Overloaded(_STOPPING))(scope, receive, send)


async def _hit_rate_limits(request: Request, caller: Caller) -> RateLimitStatus | None:
    """Count a request by caller and by address; return the rate limit status of the caller.

    Raises:
        RateLimited: one of the limits is reached.
    """
    limits, address = request.app.state.rate_limits, address_of(request)
    if request.scope["path"] == _UNCOUNTED_PATH:
        return None
    if not is_loopback(address):
        await limits.hit(RateLimitBucket.ADDRESS, rate_limit_key(address))
    if caller.id in (OWNER_CALLER.id, _ANONYMOUS.id):
        return None
    status: RateLimitStatus | None = await limits.hit(RateLimitBucket.TOKEN, caller.id)
    return status


def address_of(request: Request) -> str:
    """Return the client address of a request."""
    return request.client.host if request.client else ""


def _with_headers(headers: Iterable[tuple[bytes, bytes]], send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *headers]
        await send(message)

    return sent


_STOPPING = "The server is stopping. Send the request again in a moment."


def _unauthorized_response(request: Request) -> Response:
    wants_page = "text/html" in request.headers.get("accept", "")
    if request.method == "GET" and wants_page and is_browser_path(request.url.path):
        return RedirectResponse(f"/login?next={quote(request.url.path)}", status_code=303)
    access_tokens = access_tokens_for(request)
    challenge = "Bearer"
    if access_tokens is not None:
        challenge = access_tokens.challenge(was_sent="authorization" in request.headers)
    return error_response(Unauthorized(), headers={"WWW-Authenticate": challenge})


# Enough for a token and a path.
_MAX_FORM_BYTES = 8 * 1024
_MAX_FIELDS = 8

_LOGIN_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>cinder: log in</title>
<meta name="viewport" content="width=device-width">
<style>
  body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 15vh auto }}
  input, button {{ font: inherit; padding: .5rem .7rem; width: 100%; box-sizing: border-box }}
  button {{ margin-top: .7rem; cursor: pointer }}
  .problem {{ color: #b00020 }}
</style></head><body>
<h1>cinder</h1>
<p>This server asks for its API token. <code>cinder serve</code> prints it when it starts.</p>
<form method="post" action="/login">
  <input type="hidden" name="next" value="{next}">
  <label>Token
    <input type="password" name="token" autocomplete="current-password" autofocus>
  </label>
  <button>Log in</button>
</form>
<p class="problem" role="alert">{problem}</p>
</body></html>"""

_LOGIN_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
    "Cache-Control": "no-store",
}


def login_routes(tokens: Authenticator) -> list[Route]:
    """Return the routes of the login page."""

    async def show(request: Request) -> Response:
        return _login_page(request.query_params.get("next", "/docs"))

    async def log_in(request: Request) -> Response:
        who = rate_limit_key(address_of(request))
        limits = request.app.state.rate_limits
        try:
            if not is_loopback(address_of(request)):
                await limits.require_left(RateLimitBucket.FAILED_LOGIN, who)
            body = b""
            async for chunk in request.stream():
                body += chunk
                if len(body) > _MAX_FORM_BYTES:
                    raise ValueError("the form is too large")
            form = parse_qs(body.decode(errors="replace"), max_num_fields=_MAX_FIELDS)
            target = _safe_target(form.get("next", [""])[0])
            if not tokens.matches(form.get("token", [""])[0].strip()):
                await limits.hit(RateLimitBucket.FAILED_LOGIN, who)
                return _login_page(target, "That is not the token.", status=401)
        except RateLimited as error:
            return _login_page("", error.message, status=429)
        except ValueError:  # the body is too large, or not a form
            return _login_page("", "That is not what this page sends.", status=400)
        response = RedirectResponse(target, status_code=303)
        response.set_cookie(
            SESSION_COOKIE,
            tokens.make_session(),
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    return [Route("/login", show, methods=["GET"]), Route("/login", log_in, methods=["POST"])]


def _login_page(target: str, problem: str = "", status: int = 200) -> Response:
    page = _LOGIN_PAGE.format(next=escape(_safe_target(target)), problem=escape(problem))
    return HTMLResponse(page, status, _LOGIN_HEADERS)


def _safe_target(path: str) -> str:
    is_local = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if is_local and is_browser_path(path) else "/docs"


_METADATA_HEADERS = {"Cache-Control": "max-age=3600", "Access-Control-Allow-Origin": "*"}


def protected_resource_routes(access_tokens: "AccessTokens | None") -> list[Route]:
    """Return the routes of the protected resource metadata."""
    if access_tokens is None:
        return []

    async def describe(_request: Request) -> Response:
        return json_response(access_tokens.describe(), headers=_METADATA_HEADERS)

    about_mcp = f"{OAUTH_METADATA_PATH}/mcp"
    paths = dict.fromkeys((OAUTH_METADATA_PATH, about_mcp, access_tokens.resource.metadata_path))
    return [Route(path, describe) for path in paths]
