"""`cinder search`: searches the web and saved pages."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinder.cli.backends import Answer, post_or_run, run_with_app
from cinder.cli.jobs import require_one_of
from cinder.cli.options import WholeAnswer, takes_options
from cinder.cli.output import write_text
from cinder.errors import InvalidRequest
from cinder.models.request import OWNER
from cinder.models.search import SearchRequest

if TYPE_CHECKING:
    from cinder.app.composition import App


@takes_options(SearchRequest)
def search(
    query: Annotated[str | None, typer.Argument(help="What to look for.")] = None,
    *,
    local: Annotated[
        bool, typer.Option("--local", help="Search saved pages alone; nothing leaves the machine.")
    ] = False,
    as_json: WholeAnswer = False,
    rebuild_index: Annotated[
        bool, typer.Option("--rebuild-index", help="Rebuild the index of saved pages.")
    ] = False,
    **options: Any,  # Any: what the flags hold
) -> None:
    """Search the web and all saved pages: through the server if one runs, else in this process."""
    from cinder.api.arguments import read_arguments
    from cinder.api.schemas.search import SearchArguments, describe_search

    require_one_of({"QUERY": query, "--rebuild-index": rebuild_index})
    if rebuild_index:
        pages = run_with_app(lambda app: app.index.rebuild())
        print(f"{pages} {'page is' if pages == 1 else 'pages are'} in the index")
        return
    if local and "providers" in options:
        raise InvalidRequest.at("--local", "Give it, or --provider")
    if local:
        options["providers"] = ["local"]
    body = {"query": query, **options}
    arguments = read_arguments(SearchArguments, body)

    async def work(app: "App") -> Answer:
        found = await app.search.search(arguments.to_request(caller=OWNER))
        ceiling = app.settings.server.result_max_chars_ceiling
        return describe_search(found, arguments.offset, ceiling)

    answer = post_or_run("/v1/search", body, work)
    if as_json:
        write_text(json.dumps(answer, ensure_ascii=False, indent=2), None)
        return
    write_text(format_results(answer, options.get("offset", 0)), None)
    for line in format_search_notes(answer):
        print(line, file=sys.stderr)


def format_results(answer: Answer, offset: int) -> str:
    """Return results as lines: rank, title and date, URL, summary."""
    if not answer["results"]:
        return "Nothing was found."
    texts = []
    for rank, result in enumerate(answer["results"], offset + 1):
        date = f" ({result['publishedDate'][:10]})" if "publishedDate" in result else ""
        lines = [f"{rank}. {result['title']}{date}", f"   {result['url']}"]
        texts.append("\n".join([*lines, *([f"   {s}"] if (s := result["summary"]) else [])]))
    return "\n\n".join(texts)


def format_search_notes(answer: Answer) -> list[str]:
    """Return the notes on results: the providers, a warning, and how to get more."""
    providers = [
        f"{one['name']} failed: {one['error']}"
        if "error" in one
        else f"{one['name']} {one['results']} in {one['milliseconds']} ms"
        for one in answer["providers"]
    ]
    lines = ["; ".join(providers)]
    if "warning" in answer:
        lines.append(f"Warning: {answer['warning']}")
    if "nextOffset" in answer:
        lines.append(f"More: --offset {answer['nextOffset']}")
    return lines
