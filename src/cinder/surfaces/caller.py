"""Who sent a request, and whether his token opens what it asks for."""

from starlette.requests import Request

from cinder.errors import Forbidden
from cinder.model.caller import Caller, Scope

_KEY = "cinder.caller"


def put_caller(request: Request, caller: Caller) -> None:
    """Note who sent a request; the gate does, before anything else sees it."""
    request.scope[_KEY] = caller


def caller_of(request: Request) -> Caller:
    """Return who sent a request."""
    caller = request.scope[_KEY]
    assert isinstance(caller, Caller)  # noqa: S101 - nobody but the gate puts it there
    return caller


def caller_for(request: Request, scope: Scope) -> str:
    """Return the id of who sent a request, for what his token must open.

    Raises:
        Forbidden: it does not.
    """
    return require_scope(caller_of(request), scope)


def require_scope(caller: Caller, scope: Scope) -> str:
    """Return a caller's id, for what his token must open.

    Raises:
        Forbidden: it does not.
    """
    if not caller.may(scope):
        raise Forbidden(
            f"This token has not the scope '{scope}', which that needs. Whoever runs the server "
            f"can make one that has: cinder token create NAME --scope {scope}"
        )
    return caller.id
