"""The `cinder` command: its subcommands and its exit codes.

Subcommands import what they need when they run: `cinder mcp` must answer within two seconds, and
importing the web framework alone takes one.
"""

import sys

import typer

from cinder import __version__
from cinder.api.errors import report_failure
from cinder.cli.admin import cache, open_browser, recipe, token
from cinder.cli.doctor import doctor
from cinder.cli.export import export
from cinder.cli.extract import extract
from cinder.cli.jobs import batch, crawl
from cinder.cli.map import map_site
from cinder.cli.mcp import mcp_commands
from cinder.cli.scrape import scrape
from cinder.cli.search import search
from cinder.cli.serve import serve, worker
from cinder.errors import CinderError

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
cli.command("map")(map_site)
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
    """Run the command line; exit with 2 if the input was wrong, with 1 if the work failed."""
    try:
        cli()
    except (CinderError, OSError, ValueError) as error:
        code = report_failure(error)
        if code is None:
            raise
        sys.exit(code)
