"""`cinder extract`: extracts data from pages."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinder.cli.backends import Answer, post_or_run
from cinder.cli.options import read_json_file, takes_options
from cinder.cli.output import write_text
from cinder.models.extraction import ExtractRequest
from cinder.models.request import OWNER

if TYPE_CHECKING:
    from cinder.app.composition import App
    from cinder.models.document import Json

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
    **options: Any,  # Any: what the flags hold
) -> None:
    """Extract data from pages: through the server if one runs, else in this process."""
    from cinder.api.arguments import read_arguments
    from cinder.api.schemas.extract import EXTRACT_CHECKS, ExtractArguments, answer_extract

    body: dict[str, Json] = {
        "urls": list(urls),
        "prompt": prompt,
        "schema": read_json_file(schema, "--schema") if schema else None,
        "verify": read_json_file(verify, "--verify") if verify else None,
        **options,
    }
    body = {name: value for name, value in body.items() if value is not None}
    arguments = read_arguments(ExtractArguments, body, *EXTRACT_CHECKS)

    async def work(app: "App") -> Answer:
        extraction = await app.extract.extract(arguments.to_request(caller=OWNER))
        return await answer_extract(extraction, app.settings.server.result_max_chars_ceiling)

    answer = post_or_run("/v1/extract", body, work, seconds=_SERVER_TIMEOUT_SECONDS)
    shown = answer if as_json else answer["data"]
    write_text(json.dumps(shown, ensure_ascii=False, indent=2), None)
    for line in () if as_json else format_extraction_notes(answer):
        print(line, file=sys.stderr)


def format_extraction_notes(answer: Answer) -> list[str]:
    """Return the notes on extracted data: its grounding, missing fields, conflicts, warnings."""
    grounds = [proof["grounding"] for proof in answer["proof"]]
    counts = ", ".join(f"{grounds.count(kind)} {kind}" for kind in dict.fromkeys(grounds))
    lines = [f"{counts or 'no values'}; by {answer['engine']}"]
    if answer["missing"]:
        lines.append(f"Missing: {', '.join(answer['missing'])}")
    lines += [
        f"{conflict['path']}: kept {json.dumps(conflict['kept'])}, but "
        f"{conflict.get('url', 'a page')} says {json.dumps(conflict['other'])}"
        for conflict in answer.get("conflicts", ())
    ]
    lines += [f"{one['url']}: {one['error']}" for one in answer["sources"] if "error" in one]
    lines += [f"Not as the schema wants it: {error}" for error in answer.get("schemaErrors", ())]
    return lines + [f"Warning: {warning}" for warning in answer.get("warnings", ())]
