"""`cinder batch`: many URLs by the options of one scrape, watched from the command line."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from cinder.errors import FieldProblem, InvalidRequest
from cinder.model.document import Json
from cinder.model.job import JobKind
from cinder.surfaces.cli.crawl import check_one_of
from cinder.surfaces.cli.job_watch import attach_job, cancel_job, list_jobs, start_job
from cinder.surfaces.cli.scrape import parse_actions, parse_headers

# How files that list URLs are named, and hardly a website.
_LIST_SUFFIXES = (".txt", ".csv", ".list", ".urls")


def batch(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="URL|FILE|-", help="Pages, or files that list them line by line; - is stdin."
        ),
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", "-f", help="As of `cinder scrape`; repeatable."),
    ] = None,
    *,
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", help="'Name: value' to send; repeatable.")
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option(help="CSS selector of what to keep; repeatable.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="CSS selector of what to leave out; repeatable.")
    ] = None,
    whole_page: Annotated[
        bool, typer.Option("--whole-page", help="Keep more than the main content.")
    ] = False,
    mode: Annotated[
        str | None,
        typer.Option(help="static (no browser), dynamic (a browser) or smart (either)."),
    ] = None,
    wait_for: Annotated[
        int | None, typer.Option(help="Milliseconds to wait on each page in a browser.")
    ] = None,
    action: Annotated[
        list[str] | None, typer.Option(help="What to do on each page, as JSON; repeatable.")
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(help="default (a fresh browser) or master (the one you logged in with)."),
    ] = None,
    proxy: Annotated[str | None, typer.Option(help="basic, stealth or auto.")] = None,
    no_block_ads: Annotated[
        bool, typer.Option("--no-block-ads", help="Let a browser load ads and pop-ups.")
    ] = False,
    timeout: Annotated[int | None, typer.Option(help="Milliseconds for each page.")] = None,
    max_age: Annotated[
        int | None, typer.Option(help="Oldest kept answer to take, in milliseconds.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Fetch anew, whatever is kept.")] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Start it, print its id, and do not watch.")
    ] = False,
    attach: Annotated[str | None, typer.Option(help="Watch the batch of this id.")] = None,
    cancel: Annotated[str | None, typer.Option(help="Stop the batch of this id.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the batches.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print lines of JSON: each page, the figures, the end.")
    ] = False,
) -> None:
    """Scrape many URLs: on the server if one runs, else in this process until it is done."""
    check_one_of({"URLs": targets, "--attach": attach, "--cancel": cancel, "--list": list_})
    if list_:
        list_jobs(JobKind.BATCH, as_json=as_json)
    elif cancel is not None:
        cancel_job(JobKind.BATCH, cancel, as_json=as_json)
    elif attach is not None:
        attach_job(JobKind.BATCH, attach, as_json=as_json)
    else:
        options: dict[str, Json] = {
            "urls": read_targets(targets or []),
            "formats": formats or ["markdown"],
            "headers": parse_headers(header or []),
            "includeTags": include,
            "excludeTags": exclude,
            "onlyMainContent": not whole_page,
            "mode": mode,
            "waitFor": wait_for,
            "actions": parse_actions(action or []),
            "profile": profile,
            "proxy": proxy,
            "blockAds": not no_block_ads,
            "timeout": timeout,
            "maxAge": max_age,
            "forceRescrape": fresh,
        }
        given = {name: value for name, value in options.items() if value is not None}
        start_job(JobKind.BATCH, given, detach=detach, as_json=as_json)


def read_targets(targets: list[str]) -> list[str]:
    """Return the URLs that are named, and those that the named files list.

    Raises:
        InvalidRequest: what is named like a list is no file.
    """
    return [url for target in targets for url in _read_target(target)]


def _read_target(target: str) -> list[str]:
    if target == "-":
        return _listed(sys.stdin.read())
    if "://" in target:
        return [target]
    if Path(target).is_file():
        return _listed(Path(target).read_text())
    if target.lower().endswith(_LIST_SUFFIXES):
        message = f"There is no file {target}; write https://{target} if you mean a website"
        raise InvalidRequest(problems=(FieldProblem("FILE", message),))
    return [target]


def _listed(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]
