"""The `cinder` command: its subcommands, and how their failures are told.

Subcommands import what they need when they run: `cinder mcp` must answer within two seconds, and
the web framework alone would take one of them.
"""

import sys

import typer

from cinder import __version__
from cinder.errors import CinderError
from cinder.surfaces.cli.batch import batch
from cinder.surfaces.cli.cache import cache
from cinder.surfaces.cli.crawl import crawl
from cinder.surfaces.cli.doctor import doctor
from cinder.surfaces.cli.export import export
from cinder.surfaces.cli.extract import extract
from cinder.surfaces.cli.failures import report
from cinder.surfaces.cli.mcp_commands import mcp_commands
from cinder.surfaces.cli.open_browser import open_browser
from cinder.surfaces.cli.recipe import recipe
from cinder.surfaces.cli.scrape import scrape
from cinder.surfaces.cli.search import search
from cinder.surfaces.cli.serve import serve
from cinder.surfaces.cli.token import token
from cinder.surfaces.cli.worker import worker

cli = typer.Typer(
    name="cinder",
    help="Give it a URL; it answers with clean, honest, citable content.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    *(scrape, search, extract, batch, crawl, export, serve, worker, open_browser, doctor),
):
    cli.command()(command)
cli.add_typer(mcp_commands, name="mcp")
cli.add_typer(cache, name="cache")
cli.add_typer(token, name="token")
cli.add_typer(recipe, name="recipe")


def _show_version(value: bool) -> None:
    if value:
        print(f"cinder {__version__}")
        raise typer.Exit


@cli.callback()
def _options(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_show_version,
        is_eager=True,
        help="Show the version and exit.",
    ),
) -> None:
    """Give it a URL; it answers with clean, honest, citable content."""


def main() -> None:
    """Run the command line; exit 2 when the input was wrong, 1 when the work failed."""
    try:
        cli()
    except (CinderError, OSError, ValueError) as error:
        code = report(error)
        if code is None:
            raise
        sys.exit(code)
