"""`cinder extract`: extracts data from pages."""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cinder.cli.backends import find_server
from cinder.cli.options import takes_options
from cinder.cli.output import write_text
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.document import Json
from cinder.models.extraction import ExtractRequest
from cinder.models.request import OWNER

# Any, here and below: answers are JSON, and options what their flags hold.
Answer = dict[str, Any]

_SERVER_TIMEOUT_SECONDS = 320.0


@takes_options(ExtractRequest, without=("maxAge",), flags={"forceRescrape": ("--force",)})
def extract(
    urls: Annotated[list[str], typer.Argument(help="The pages; https:// may be left out.")],
    *,
    prompt: Annotated[
        str | None, typer.Option("--prompt", "-p", help="What to extract, in words.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", help="A file with a JSON Schema.")
    ] = None,
    verify: Annotated[
        Path | None,
        typer.Option(help="A JSON file of values to check: [{path, value, quote, url}]."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole answer: proof, sources and the rest.")
    ] = False,
    **options: Any,
) -> None:
    """Extract data from pages: through the server if one runs, else in this process."""
    arguments: dict[str, Json] = {
        "urls": list(urls),
        "prompt": prompt,
        "schema": _read_file(schema, "--schema"),
        "verify": _read_file(verify, "--verify"),
        **options,
    }
    answer = asyncio.run(_extract({name: v for name, v in arguments.items() if v is not None}))
    shown = answer if as_json else answer["data"]
    write_text(json.dumps(shown, ensure_ascii=False, indent=2), None)
    for line in () if as_json else format_extraction_notes(answer):
        print(line, file=sys.stderr)


def format_extraction_notes(answer: Answer) -> list[str]:
    """Return what goes with the data: how far it is proved, what is missing, what to know."""
    grounds = [each["grounding"] for each in answer["proof"]]
    counts = ", ".join(f"{grounds.count(kind)} {kind}" for kind in dict.fromkeys(grounds))
    lines = [f"{counts or 'no values'}; by {answer['engine']}"]
    if answer["missing"]:
        lines.append(f"Missing: {', '.join(answer['missing'])}")
    lines += [
        f"{each['path']}: kept {json.dumps(each['kept'])}, but {each.get('url', 'a page')} says "
        f"{json.dumps(each['other'])}"
        for each in answer.get("conflicts", ())
    ]
    lines += [f"{one['url']}: {one['error']}" for one in answer["sources"] if "error" in one]
    lines += [f"Not as the schema wants it: {each}" for each in answer.get("schemaErrors", ())]
    return lines + [f"Warning: {each}" for each in answer.get("warnings", ())]


def _read_file(path: Path | None, option: str) -> Json:
    if path is None:
        return None
    try:
        read: Json = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        problem = FieldProblem(option, f"{path} is not valid JSON: {error}")
        raise InvalidRequest(problems=(problem,)) from None
    return read


async def _extract(given: Mapping[str, Json]) -> Answer:
    from cinder.api.arguments import read_arguments
    from cinder.api.schemas.extract import EXTRACT_CHECKS, ExtractArguments, answer_extract
    from cinder.app import open_app
    from cinder.config import read_settings
    from cinder.logs import configure_logs

    arguments = read_arguments(ExtractArguments, given, *EXTRACT_CHECKS)
    settings = read_settings()
    configure_logs("warning" if settings.log.level == "info" else settings.log.level)
    link, _ = find_server(settings)
    if link is not None:
        return dict(await link.ask("POST", "/v1/extract", given, seconds=_SERVER_TIMEOUT_SECONDS))
    async with open_app(settings) as app:
        answer = await app.extract.extract(arguments.to_request(caller=OWNER))
    return await answer_extract(answer, settings.server.result_max_chars_ceiling)
