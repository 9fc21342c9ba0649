"""`cinder token`, `cache`, `recipe` and `open-browser`: what the owner of a server manages."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cinder.cli.backends import cancel_on_sigterm, run_with_app
from cinder.cli.jobs import require_one_of
from cinder.cli.output import write_media, write_text
from cinder.errors import InvalidRequest
from cinder.models.caller import EVERYDAY_SCOPES, CallerPolicy, Token, TokenScope, sorted_scopes
from cinder.models.request import OWNER

if TYPE_CHECKING:
    from cinder.app.composition import App
    from cinder.models.document import Json
    from cinder.models.recipe import FieldRule, KeptRecipe


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
        raise InvalidRequest.at("--domain", str(error)) from None
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
        raise InvalidRequest.at("name", f"There is no token {name!r}; cinder token list has them")
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


cache = typer.Typer(help="Show, read and delete saved pages.", no_args_is_help=True)
Url = Annotated[str, typer.Argument(help="The page.")]


@cache.command("show")
def show_entries(url: Url) -> None:
    """List the cache entries of a URL."""
    page = _canonical(url)
    entries = run_with_app(lambda app: app.archive.list_entries(page))
    if not entries:
        print(f"Nothing is kept of {page}")
    for entry in entries:
        times = "once" if entry.access_count == 1 else f"{entry.access_count} times"
        print(
            f"{entry.uri}  {entry.cleaned_length or entry.raw_length or 0} characters, read {times}"
        )


@cache.command()
def read(
    uri: Annotated[str, typer.Argument(help="A saved page's URI: scrape://…")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write it to this file.")
    ] = None,
) -> None:
    """Print a saved page, or write a saved file."""
    try:
        body = run_with_app(lambda app: app.archive.read(uri, OWNER))
    except ValueError as error:
        raise InvalidRequest.at("uri", str(error)) from None
    if body is None:
        print(f"Nothing is saved as {uri}; it may have expired.", file=sys.stderr)
        raise typer.Exit(1)
    if body.data is not None:
        write_media(body.mime, body.data, output)
    else:
        write_text(body.text or "", output)


@cache.command()
def clear(url: Url) -> None:
    """Delete all saved versions of a URL."""
    page = _canonical(url)
    deleted = run_with_app(lambda app: app.archive.forget(page))
    print(f"Deleted {deleted} cache {'entry' if deleted == 1 else 'entries'} of {page}")


def _canonical(url: str) -> str:
    from cinder.models.url import parse_web_url

    try:
        return parse_web_url(url)
    except ValueError as error:
        raise InvalidRequest.at("url", str(error)) from None


_MAX_FIELDS_CHARS = 60

recipe = typer.Typer(help="List, show and delete learned recipes.", no_args_is_help=True)
Id = Annotated[int, typer.Argument(help="The recipe's number.")]


@recipe.command("list")
def list_(
    site: Annotated[str | None, typer.Option(help="Only of this site: a host or a URL.")] = None,
    limit: Annotated[int, typer.Option(help="How many, at most 1000.", min=1, max=1000)] = 100,
    before: Annotated[int | None, typer.Option(help="Only those below this number.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the recipes, newest first."""
    found = run_with_app(lambda app: app.recipes.list_recipes(site, before_id=before, limit=limit))
    if as_json:
        shown: list[Json] = [describe_recipe(kept) for kept in found]
        write_text(json.dumps(shown, ensure_ascii=False, indent=2), None)
        return
    write_text("\n".join(map(format_recipe, found)) or "Nothing was learned yet.", None)
    if len(found) == limit:
        print(f"More: --before {found[-1].id}", file=sys.stderr)


@recipe.command("show")
def show_recipe(recipe_id: Id, as_json: AsJson = False) -> None:
    """Show where a recipe looks for each field."""
    found = run_with_app(lambda app: app.recipes.find(recipe_id))
    if found is None:
        print(f"There is no recipe {recipe_id}; it may have been dropped.", file=sys.stderr)
        raise typer.Exit(1)
    if as_json:
        write_text(json.dumps(describe_recipe(found), ensure_ascii=False, indent=2), None)
        return
    write_text("\n".join((format_recipe(found), *format_rules(found))), None)


@recipe.command()
def delete(
    recipe_ids: Annotated[list[int] | None, typer.Argument(help="Numbers of recipes.")] = None,
    site: Annotated[str | None, typer.Option(help="All of this site: a host or a URL.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every recipe of every site.")] = False,
) -> None:
    """Delete recipes; cinder learns them again from the next page."""
    require_one_of({"RECIPE_IDS": recipe_ids, "--site": site, "--all": every})

    async def work(app: "App") -> int:
        if recipe_ids:
            return await app.recipes.delete(recipe_ids)
        return await (app.recipes.delete_site(site) if site else app.recipes.delete_all())

    deleted = run_with_app(work)
    print(f"Deleted {deleted} {'recipe' if deleted == 1 else 'recipes'}")
    if recipe_ids and not deleted:
        raise typer.Exit(1)


def format_recipe(kept: "KeptRecipe") -> str:
    """Return a recipe as one line: number, pages, fields, and its success rate."""
    fields = kept.summary
    if len(fields) > _MAX_FIELDS_CHARS:
        fields = f"{fields[:_MAX_FIELDS_CHARS]}…"
    failing = f", failed {kept.failures} in a row" if kept.failures else ""
    owner = "" if kept.place.owner is None else f", only for {kept.place.owner}"
    return (
        f"{kept.id}  {kept.place.site}{kept.place.shape}  {fields}  "
        f"held on {kept.successes} of {kept.uses} pages{failing}, "
        f"last tried {kept.used_at:%Y-%m-%d}{owner}"
    )


def format_rules(kept: "KeptRecipe") -> Iterator[str]:
    """Yield the rules of a recipe as lines, field by field."""
    yield f"learned from {kept.learned_from} on {kept.created_at:%Y-%m-%d}"
    for rule in kept.recipe.fields:
        yield f"  {_format_field(rule)}"
    for records in kept.recipe.lists:
        place = f"{records.selector!r}" + (f" under {records.label!r}" if records.label else "")
        yield f"  {'.'.join(records.path)}[]: each {place}"
        for rule in records.fields:
            yield f"    {_format_field(rule)}"


def _format_field(rule: "FieldRule") -> str:
    locators = []
    for locator in rule.locators:
        text = repr(locator.selector) if locator.selector else "all of it"
        if locator.attribute:
            text = f"{locator.attribute} of {text}"
        context = {
            "after label": locator.label,
            "after": locator.before,
            "before": locator.after,
        }
        locators.append(" ".join([text, *(f"{word} {t!r}" for word, t in context.items() if t)]))
    name = ".".join(rule.path) or "value"
    parsed = f", read as {rule.format}" if rule.format else ""
    return f"{name}: {' and '.join(locators)}{parsed}"


def describe_recipe(kept: "KeptRecipe") -> "dict[str, Json]":
    """Return a recipe as JSON."""
    from cinder.models.recipe import recipe_to_json

    return {
        "id": kept.id,
        "site": kept.place.site,
        "shape": kept.place.shape,
        "wish": kept.place.wish,
        "owner": kept.place.owner,
        "fields": kept.summary,
        "learnedFrom": kept.learned_from,
        "createdAt": kept.created_at.isoformat(),
        "usedAt": kept.used_at.isoformat(),
        "uses": kept.uses,
        "successes": kept.successes,
        "failuresInARow": kept.failures,
        "recipe": recipe_to_json(kept.recipe),
    }


def open_browser(
    url: Annotated[
        str | None, typer.Argument(help="The first page, such as a site's login page.")
    ] = None,
) -> None:
    """Open a browser to log in with; scrapes with the profile `master` then use that login."""
    from cinder.app.composition import open_login_browser
    from cinder.config.settings import read_settings
    from cinder.logs import configure_logs
    from cinder.models.url import parse_web_url

    settings = read_settings()
    configure_logs("error")
    try:
        first_page = parse_web_url(url) if url else None
    except ValueError as error:
        raise InvalidRequest(f"{url}: {error}") from error

    async def open_window() -> None:
        # Otherwise the profile would be unlocked while the browser still runs.
        cancel_on_sigterm()
        lock_seconds = settings.browser.master_profile_lock_timeout_ms / 1000
        print(f"Waiting for the browser profile (at most {lock_seconds:g} s) …", flush=True)
        async with open_login_browser(settings, url=first_page) as login:
            print(f"The browser is open. Its profile is in {login.profile}.")
            if login.problem:
                print(f"The first page did not load: {login.problem}")
            print(
                "Log in where you need to, then close the window; what you did is saved as you go. "
                'Scrapes with `profile: "master"` use it afterwards.',
                flush=True,
            )
            was_closed = await login.window.wait_until_closed()
        minutes = settings.browser.master_login_timeout_ms / 60_000
        ending = "Closed by you." if was_closed else f"Closed after {minutes:g} minutes."
        print(ending, "Logins saved.")

    try:
        asyncio.run(open_window())
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("Stopped. What was done in the window is saved.")
