"""`cinder cache`: shows, reads and clears saved pages."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from cinder.cli.output import write_media, write_text
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.request import OWNER

if TYPE_CHECKING:
    from cinder.services.archive import Archive


T = TypeVar("T")


cache = typer.Typer(help="Look at what is kept, and forget it.", no_args_is_help=True)
Url = Annotated[str, typer.Argument(help="The page.")]


@cache.command()
def show(url: Url) -> None:
    """List the cache entries of a URL."""
    page = _canonical(url)
    entries = asyncio.run(_with_archive(lambda archive: archive.list_entries(page)))
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
        body = asyncio.run(_with_archive(lambda archive: archive.read(uri, OWNER)))
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
    """Delete everything kept of a URL, all its versions included."""
    page = _canonical(url)
    deleted = asyncio.run(_with_archive(lambda archive: archive.forget(page)))
    print(f"Deleted {deleted} cache {'entry' if deleted == 1 else 'entries'} of {page}")


def _canonical(url: str) -> str:
    from cinder.models.url import parse_web_url

    try:
        return parse_web_url(url)
    except ValueError as error:
        raise InvalidRequest(problems=(FieldProblem("url", str(error)),)) from None


async def _with_archive(work: "Callable[[Archive], Awaitable[T]]") -> T:
    from cinder.app import open_app
    from cinder.config import read_settings

    async with open_app(read_settings()) as app:
        return await work(app.archive)
