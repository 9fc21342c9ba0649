"""The login page: takes the token from a person's browser and gives it a session."""

from html import escape
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from cinder.errors import RateLimited
from cinder.services.rate_limits import Bucket, is_loopback, neighbourhood
from cinder.surfaces.gate import (
    SESSION_COOKIE,
    SESSION_SECONDS,
    Tokens,
    address_of,
    is_for_people_path,
)

# A token, a path, and their names: whoever sends more is not logging in.
_MAX_FORM_BYTES = 8 * 1024
_MAX_FIELDS = 8

_PAGE = """<!doctype html>
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

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
    "Cache-Control": "no-store",
}


def login_routes(tokens: Tokens) -> list[Route]:
    """Return the routes of the login page."""

    async def show(request: Request) -> Response:
        return _page(request.query_params.get("next", "/docs"))

    async def log_in(request: Request) -> Response:
        who = neighbourhood(address_of(request))
        limits = request.app.state.rate_limits
        try:
            if not is_loopback(address_of(request)):
                await limits.require_left(Bucket.FAILED_LOGIN, who)
            form = await _read_form(request)
            target = _safe_target(form.get("next", [""])[0])
            if not tokens.matches(form.get("token", [""])[0].strip()):
                await limits.take(Bucket.FAILED_LOGIN, who)
                return _page(target, "That is not the token.", status=401)
        except RateLimited as error:
            return _page("", error.message, status=429)
        except _NoForm:
            return _page("", "That is not what this page sends.", status=400)
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


class _NoForm(Exception):
    """The body is too large, or is no form."""


async def _read_form(request: Request) -> dict[str, list[str]]:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_FORM_BYTES:
            raise _NoForm
    try:
        return parse_qs(body.decode(errors="replace"), max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise _NoForm from None


def _page(target: str, problem: str = "", status: int = 200) -> Response:
    page = _PAGE.format(next=escape(_safe_target(target)), problem=escape(problem))
    return HTMLResponse(page, status, _HEADERS)


def _safe_target(path: str) -> str:
    is_local = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if is_local and is_for_people_path(path) else "/docs"
