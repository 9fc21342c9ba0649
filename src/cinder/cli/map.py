"""`cinder map`: lists the URLs of a site."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinder.cli.backends import Answer, post_or_run
from cinder.cli.options import WholeAnswer, takes_options
from cinder.cli.output import pluralize, show_status, write_text
from cinder.models.request import OWNER
from cinder.services.jobs.specs import MapRequest

if TYPE_CHECKING:
    from cinder.app.composition import App

# For what is done after the time that the request itself may take.
_MORE_SECONDS = 60


@takes_options(MapRequest)
def map_site(
    url: Annotated[str, typer.Argument(help="The site, or a page of it to start from.")],
    *,
    as_json: WholeAnswer = False,
    **options: Any,  # Any: what the flags hold
) -> None:
    """List the URLs of a site, one a line: through the server if one runs, else in this process."""
    from cinder.api.arguments import read_arguments
    from cinder.api.schemas.map import MapArguments, describe_map

    body = {"url": url, **options}
    request = read_arguments(MapArguments, body).to_request(caller=OWNER)

    async def work(app: "App") -> Answer:
        return dict(describe_map(await app.site_map.map(request), request))

    seconds = request.timeout_ms / 1000 + _MORE_SECONDS
    with show_status(f"Mapping {request.url}"):
        answer = post_or_run("/v1/map", body, work, seconds=seconds)
    if as_json:
        write_text(json.dumps(answer, ensure_ascii=False, indent=2), None)
        return
    if answer["urls"]:
        write_text("\n".join(found["url"] for found in answer["urls"]), None)
    for line in format_map_notes(answer):
        print(line, file=sys.stderr)


def format_map_notes(answer: Answer) -> list[str]:
    """Return the notes on a map: how many URLs of which source, warnings, and how to get more."""
    sources = [found["source"] for found in answer["urls"]]
    counts = ", ".join(f"{sources.count(name)} by {name}" for name in dict.fromkeys(sources))
    lines = [f"{pluralize(len(sources), 'URLs')}{f': {counts}' if counts else ''}"]
    lines += [f"Warning: {warning}" for warning in answer.get("warnings", ())]
    if "nextOffset" in answer:
        lines.append(f"More: --offset {answer['nextOffset']}, or a larger --limit")
    return lines
