"""`cinder search`: searches the web and saved pages."""

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from cinder.cli.backends import find_server
from cinder.cli.jobs import require_one_of
from cinder.cli.options import takes_options
from cinder.cli.output import write_text
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.document import Json
from cinder.models.request import OWNER
from cinder.models.search import SearchRequest

# Any, here and below: answers are JSON, and options what their flags hold.
Answer = dict[str, Any]


@takes_options(SearchRequest)
def search(
    query: Annotated[str | None, typer.Argument(help="What to look for.")] = None,
    *,
    local: Annotated[
        bool, typer.Option("--local", help="Search saved pages alone; nothing leaves the machine.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole answer as JSON.")
    ] = False,
    rebuild_index: Annotated[
        bool, typer.Option("--rebuild-index", help="Make the index of saved pages again.")
    ] = False,
    **options: Any,
) -> None:
    """Search the web and all saved pages: through the server if one runs, else in this process."""
    require_one_of({"QUERY": query, "--rebuild-index": rebuild_index})
    if rebuild_index:
        pages = asyncio.run(_rebuild())
        print(f"{pages} {'page is' if pages == 1 else 'pages are'} in the index")
        return
    if local and "providers" in options:
        raise InvalidRequest(problems=(FieldProblem("--local", "Give it, or --provider"),))
    if local:
        options["providers"] = ["local"]
    answer = asyncio.run(_search({"query": query, **options}))
    if as_json:
        write_text(json.dumps(answer, ensure_ascii=False, indent=2), None)
        return
    write_text(format_results(answer, options.get("offset", 0)), None)
    for line in format_search_notes(answer):
        print(line, file=sys.stderr)


def format_results(answer: Answer, offset: int) -> str:
    """Return results as lines: place, title and date, address, summary."""
    if not answer["results"]:
        return "Nothing was found."
    told = []
    for place, result in enumerate(answer["results"], offset + 1):
        date = f" ({result['publishedDate'][:10]})" if "publishedDate" in result else ""
        lines = [f"{place}. {result['title']}{date}", f"   {result['url']}"]
        told.append("\n".join([*lines, *([f"   {s}"] if (s := result["summary"]) else [])]))
    return "\n\n".join(told)


def format_search_notes(answer: Answer) -> list[str]:
    """Return what goes with the results: who answered, what to know, and how to get more."""
    asked = [
        f"{one['name']} failed: {one['error']}"
        if "error" in one
        else f"{one['name']} {one['results']} in {one['milliseconds']} ms"
        for one in answer["providers"]
    ]
    lines = ["; ".join(asked)]
    if "warning" in answer:
        lines.append(f"Warning: {answer['warning']}")
    if "nextOffset" in answer:
        lines.append(f"More: --offset {answer['nextOffset']}")
    return lines


async def _search(given: Mapping[str, Json]) -> Answer:
    from cinder.api.arguments import read_arguments
    from cinder.api.schemas.search import SearchArguments, describe_search
    from cinder.app import open_app
    from cinder.config import read_settings
    from cinder.logs import configure_logs

    arguments = read_arguments(SearchArguments, given)
    settings = read_settings()
    configure_logs("warning" if settings.log.level == "info" else settings.log.level)
    link, _ = find_server(settings)
    if link is not None:
        return dict(await link.ask("POST", "/v1/search", given))
    async with open_app(settings) as app:
        answer = await app.search.search(arguments.to_request(caller=OWNER))
    return describe_search(answer, arguments.offset, settings.server.result_max_chars_ceiling)


async def _rebuild() -> int:
    from cinder.app import open_app
    from cinder.config import read_settings

    async with open_app(read_settings()) as app:
        return await app.index.rebuild()
