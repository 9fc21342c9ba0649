"""`cinder cache`: shows, reads and clears saved pages."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from cinder.cli.backends import run_with_app
from cinder.cli.output import write_media, write_text
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.request import OWNER

cache = typer.Typer(help="Show, read and delete saved pages.", no_args_is_help=True)
Url = Annotated[str, typer.Argument(help="The page.")]


@cache.command()
def show(url: Url) -> None:
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
        raise InvalidRequest(problems=(FieldProblem("uri", str(error)),)) from None
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
        raise InvalidRequest(problems=(FieldProblem("url", str(error)),)) from None
