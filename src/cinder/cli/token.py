"""`cinder token`: creates, lists and revokes API tokens."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.caller import EVERYDAY_SCOPES, CallerPolicy, Token, TokenScope, sorted_scopes
from cinder.models.document import Json

if TYPE_CHECKING:
    from cinder.services.auth import TokenService


T = TypeVar("T")

token = typer.Typer(
    help="Make tokens for other callers, list them, revoke them.", no_args_is_help=True
)
Name = Annotated[str, typer.Argument(help="What the token is called: ci, research-agent.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@token.command()
def create(
    name: Name,
    scope: Annotated[
        list[TokenScope], typer.Option(help="What it opens; may be given several times.")
    ] = list(EVERYDAY_SCOPES),  # noqa: B006 - read only
    domain: Annotated[
        list[str], typer.Option(help="A host it may fetch and read, and those beneath it; several.")
    ] = [],  # noqa: B006 - the same
    pages_per_day: Annotated[
        int | None, typer.Option(min=1, help="Pages it may have fetched a day.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it: it is not kept, and not shown again."""
    from cinder.models.url import read_domain

    try:
        domains = tuple(read_domain(each) for each in domain)
    except ValueError as error:
        raise InvalidRequest(problems=(FieldProblem("--domain", str(error)),)) from None
    policy = CallerPolicy(domains=domains, pages_per_day=pages_per_day)
    made = asyncio.run(_with_callers(lambda callers: callers.create(name, scope, policy)))
    if as_json:
        print(json.dumps(describe_token(made.token) | {"secret": made.secret}))
    else:
        print(made.secret)


@token.command("list")
def list_tokens(as_json: AsJson = False) -> None:
    """List the tokens: what each opens, how far it goes, and when it was last used."""
    tokens = asyncio.run(_with_callers(lambda callers: callers.list_tokens()))
    if as_json:
        print(json.dumps([describe_token(each) for each in tokens]))
        return
    if not tokens:
        print("There are no tokens but the owner's. Make one: cinder token create NAME")
    for each in tokens:
        print(_format_token(each))


@token.command()
def revoke(name: Name) -> None:
    """Take a token back; servers that run refuse it within seconds."""
    if not asyncio.run(_with_callers(lambda callers: callers.revoke(name))):
        problem = FieldProblem("name", f"There is no token {name!r}; cinder token list has them")
        raise InvalidRequest(problems=(problem,))
    print(f"Revoked {name}")


def describe_token(each: Token) -> dict[str, Json]:
    """Return a token as JSON shows it."""
    used = each.last_used_at
    return {
        "id": each.id,
        "name": each.name,
        "scopes": list(sorted_scopes(each.scopes)),
        "domains": list(each.policy.domains),
        "pagesPerDay": each.policy.pages_per_day,
        "createdAt": each.created_at.isoformat(),
        "lastUsedAt": used.isoformat() if used else None,
    }


def _format_token(each: Token) -> str:
    used = f"{each.last_used_at:%Y-%m-%d %H:%M}" if each.last_used_at else "never"
    parts = [each.name, ",".join(sorted_scopes(each.scopes)), f"last used {used}"]
    if each.policy.domains:
        parts.append("only " + ", ".join(each.policy.domains))
    if each.policy.pages_per_day is not None:
        parts.append(f"{each.policy.pages_per_day} pages a day")
    return "  ".join(parts)


async def _with_callers(work: "Callable[[TokenService], Awaitable[T]]") -> T:
    from cinder.app import open_app
    from cinder.config import read_settings

    async with open_app(read_settings()) as app:
        return await work(app.callers)
