"""`cinder token`: creates, lists and revokes API tokens."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from cinder.cli.backends import run_with_app
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.caller import EVERYDAY_SCOPES, CallerPolicy, Token, TokenScope, sorted_scopes

if TYPE_CHECKING:
    from cinder.models.document import Json

token = typer.Typer(help="Create, list and revoke tokens for other callers.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="The token's name: ci, research-agent.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@token.command()
def create(
    name: Name,
    scope: Annotated[
        list[TokenScope], typer.Option(help="What the token permits; may be repeated.")
    ] = list(EVERYDAY_SCOPES),  # noqa: B006 - read only
    domain: Annotated[
        list[str],
        typer.Option(help="A host it may fetch and read, with its subdomains; repeatable."),
    ] = [],  # noqa: B006 - the same
    pages_per_day: Annotated[
        int | None, typer.Option(min=1, help="Pages it may have fetched a day.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a token and print it: it is not stored, and not shown again."""
    from cinder.models.url import read_domain

    try:
        domains = tuple(map(read_domain, domain))
    except ValueError as error:
        raise InvalidRequest(problems=(FieldProblem("--domain", str(error)),)) from None
    policy = CallerPolicy(domains=domains, pages_per_day=pages_per_day)
    created = run_with_app(lambda app: app.callers.create(name, scope, policy))
    if as_json:
        print(json.dumps(describe_token(created.token) | {"secret": created.secret}))
    else:
        print(created.secret)


@token.command("list")
def list_tokens(as_json: AsJson = False) -> None:
    """List the tokens: their scopes, when each was last used, and their limits."""
    tokens = run_with_app(lambda app: app.callers.list_tokens())
    if as_json:
        print(json.dumps([describe_token(listed) for listed in tokens]))
        return
    if not tokens:
        print("There are no tokens but the owner's. Create one: cinder token create NAME")
    for listed in tokens:
        used = f"{listed.last_used_at:%Y-%m-%d %H:%M}" if listed.last_used_at else "never"
        parts = [listed.name, ",".join(sorted_scopes(listed.scopes)), f"last used {used}"]
        if listed.policy.domains:
            parts.append("only " + ", ".join(listed.policy.domains))
        if listed.policy.pages_per_day is not None:
            parts.append(f"{listed.policy.pages_per_day} pages a day")
        print("  ".join(parts))


@token.command()
def revoke(name: Name) -> None:
    """Revoke a token; running servers refuse it within seconds."""
    if not run_with_app(lambda app: app.callers.revoke(name)):
        problem = FieldProblem("name", f"There is no token {name!r}; cinder token list has them")
        raise InvalidRequest(problems=(problem,))
    print(f"Revoked {name}")


def describe_token(described: Token) -> "dict[str, Json]":
    """Return a token as JSON."""
    used = described.last_used_at
    return {
        "id": described.id,
        "name": described.name,
        "scopes": list(sorted_scopes(described.scopes)),
        "domains": list(described.policy.domains),
        "pagesPerDay": described.policy.pages_per_day,
        "createdAt": described.created_at.isoformat(),
        "lastUsedAt": used.isoformat() if used else None,
    }
