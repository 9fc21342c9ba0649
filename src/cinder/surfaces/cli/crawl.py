"""`cinder crawl`: exploring a site, watched from the command line."""

from typing import Annotated

import typer

from cinder.errors import FieldProblem, InvalidRequest
from cinder.model.document import Json
from cinder.model.job import JobKind
from cinder.surfaces.cli.job_watch import attach_job, cancel_job, list_jobs, start_job


def crawl(
    url: Annotated[
        str | None, typer.Argument(help="Where to start; https:// may be left out.")
    ] = None,
    *,
    max_pages: Annotated[int | None, typer.Option(help="Most pages to fetch; 100.")] = None,
    max_depth: Annotated[
        int | None, typer.Option(help="How far to go: 1 is the start alone; 2.")
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(help="Only URLs in which this regular expression is found; repeatable."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="No URLs in which this regular expression is found; repeatable."),
    ] = None,
    scope: Annotated[
        str | None, typer.Option(help="host, domain (the registered one) or subdomains.")
    ] = None,
    render: Annotated[
        bool, typer.Option("--render", help="Render every page in a browser.")
    ] = False,
    whole_page: Annotated[
        bool, typer.Option("--whole-page", help="Keep more than the main content.")
    ] = False,
    no_sitemaps: Annotated[
        bool, typer.Option("--no-sitemaps", help="Find pages by links alone.")
    ] = False,
    delay: Annotated[
        int | None, typer.Option(help="Least milliseconds between two requests to one host.")
    ] = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Start it, print its id, and do not watch.")
    ] = False,
    attach: Annotated[str | None, typer.Option(help="Watch the crawl of this id.")] = None,
    cancel: Annotated[str | None, typer.Option(help="Stop the crawl of this id.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the crawls.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print lines of JSON: each page, the figures, the end.")
    ] = False,
) -> None:
    """Crawl a site: on the server if one runs, else in this process until it is done."""
    check_one_of({"URL": url, "--attach": attach, "--cancel": cancel, "--list": list_})
    if list_:
        list_jobs(JobKind.CRAWL, as_json=as_json)
    elif cancel is not None:
        cancel_job(JobKind.CRAWL, cancel, as_json=as_json)
    elif attach is not None:
        attach_job(JobKind.CRAWL, attach, as_json=as_json)
    else:
        options: dict[str, Json] = {
            "url": url,
            "maxPages": max_pages,
            "maxDepth": max_depth,
            "includePatterns": include,
            "excludePatterns": exclude,
            "scope": scope,
            "render": render,
            "onlyMainContent": not whole_page,
            "sitemaps": not no_sitemaps,
            "delay": delay,
        }
        given = {name: value for name, value in options.items() if value is not None}
        start_job(JobKind.CRAWL, given, detach=detach, as_json=as_json)


def check_one_of(choices: dict[str, object]) -> None:
    """Check that exactly one of the things a command can do is asked for.

    Raises:
        InvalidRequest: it is none of them, or several.
    """
    given = [name for name, value in choices.items() if value]
    if len(given) != 1:
        names = ", ".join(choices)
        received = " and ".join(given) or "none"
        problem = FieldProblem("(command)", f"Give one of {names}; received {received}")
        raise InvalidRequest(problems=(problem,))
