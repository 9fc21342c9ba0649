"""`cinder scrape`: prints one page."""

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinder.cli.backends import read_quiet_settings
from cinder.cli.options import WholeAnswer, parse_options, takes_options
from cinder.cli.output import write_media, write_text
from cinder.errors import CinderError, InvalidRequest
from cinder.models.request import OWNER, ResultHandling, ScrapeRequest

if TYPE_CHECKING:
    from cinder.services.scraping.outcome import ScrapeOutcome


@takes_options(ScrapeRequest)
def scrape(
    url: Annotated[str, typer.Argument(help="The page; https:// may be left out.")],
    *,
    parse_pdf: Annotated[
        bool,
        typer.Option("--parse-pdf", help="Turn a PDF into text instead of returning the file."),
    ] = False,
    max_pages: Annotated[
        int | None, typer.Option(help="Pages of a PDF to parse; implies --parse-pdf.")
    ] = None,
    no_save: Annotated[bool, typer.Option("--no-save", help="Save nothing.")] = False,
    max_chars: Annotated[int | None, typer.Option(help="Show at most so many characters.")] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Show at most so many tokens, of about four characters each.")
    ] = None,
    start_index: Annotated[
        int, typer.Option(help="Show from this character on; with --query skip so many passages.")
    ] = 0,
    section: Annotated[
        str | None,
        typer.Option(help="Show this section alone: its id in the outline, or its title."),
    ] = None,
    query: Annotated[
        str | None, typer.Option(help="Show the passages that match these words alone.")
    ] = None,
    outline: Annotated[
        bool, typer.Option("--outline", help="Show the headings: id, size in tokens, title.")
    ] = False,
    as_json: WholeAnswer = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the content to this file.")
    ] = None,
    **options: Any,  # Any: what the flags of the options hold
) -> None:
    """Print a page as clean markdown, or in another format."""
    with _json_failures(as_json):
        arguments: dict[str, Any] = {
            **parse_options(options),
            "url": url,
            "maxChars": max_chars,
            "maxTokens": max_tokens,
            "startIndex": start_index,
            "section": section,
            "query": query,
        }
        if max_pages is not None:
            arguments["parsers"] = [{"type": "pdf", "maxPages": max_pages}]
        elif parse_pdf:
            arguments["parsers"] = [{"type": "pdf"}]
        if no_save:
            arguments["resultHandling"] = ResultHandling.RETURN_ONLY
        data, outcome = asyncio.run(_scrape(arguments))
        if outline:
            headings, rest = _outline_of(data)
            shown = json.dumps(headings, ensure_ascii=False, indent=2)
            write_text(shown if as_json else outline_text(headings, rest), output)
            return
        if as_json:
            write_text(json.dumps(data, ensure_ascii=False, indent=2), output)
            return
        write_outcome(data, outcome, output)
        _print_source(data)


@contextmanager
def _json_failures(as_json: bool) -> Iterator[None]:
    """Print a failure as JSON if the output is JSON; the line on standard error follows."""
    try:
        yield
    except CinderError as error:
        if as_json:
            from cinder.api.errors import describe_error

            print(json.dumps({"error": describe_error(error)}, ensure_ascii=False, indent=2))
        raise


async def _scrape(raw: dict[str, Any]) -> "tuple[dict[str, Any], ScrapeOutcome]":
    from cinder.api.arguments import read_arguments
    from cinder.api.schemas.page_parts import with_page_metadata
    from cinder.api.schemas.scrape import SCRAPE_CHECKS, ScrapeArguments, answer_outcome
    from cinder.app.composition import open_app
    from cinder.models.request import Format

    arguments = read_arguments(ScrapeArguments, raw, *SCRAPE_CHECKS)
    request = arguments.to_request(caller=OWNER, default_formats=(Format.MARKDOWN,))
    settings = read_quiet_settings()
    ceiling = settings.server.result_max_chars_ceiling
    async with open_app(settings) as app:
        with _progress(f"Fetching {request.url}"):
            outcome = await app.scrape.scrape(request)
    data = await answer_outcome(outcome, request, arguments.window(ceiling, ceiling))
    return with_page_metadata(data, outcome.document), outcome


def write_outcome(data: dict[str, Any], outcome: "ScrapeOutcome", output: Path | None) -> None:
    """Write the requested formats; a screenshot goes to a PNG file, text to standard output."""
    document, text = outcome.document, _as_text(data)
    if document.media is not None:
        write_media(document.media.mime, document.media.data, output)
        if output is None and document.media.mime == "application/pdf":
            print("Use --parse-pdf to read its text.", file=sys.stderr)
        return
    picture = document.screenshot
    takes_picture = not text or (output is not None and output.suffix.lower() == ".png")
    if picture is not None and takes_picture:
        write_media(picture.mime, picture.data, output)
        output = None
    elif picture is not None:
        print("Use --output FILE.png to write the screenshot to a file.", file=sys.stderr)
    if text or picture is None:
        write_text(text, output)


def outline_text(headings: list[dict[str, Any]], rest: int = 0) -> str:
    """Return an outline as lines, subsections indented."""
    lines = [
        f"{'  ' * max(0, heading['level'] - 1)}{heading['id']} ({heading['tokens']})"
        f"  {heading['title']}".rstrip()
        for heading in headings
    ]
    return "\n".join([*lines, f"and {rest} more"] if rest else lines)


def _outline_of(data: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """Return the headings of a response, and how many it leaves out."""
    metadata = data["metadata"]
    if "outline" not in metadata:
        raise InvalidRequest.at("--outline", "Only a page with markdown has one; leave it out")
    return metadata["outline"], metadata.get("outlineLeftOut", 0)


def _progress(message: str) -> Any:  # Any: rich's status, or nothing
    from contextlib import nullcontext

    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(message)


def _as_text(data: dict[str, Any]) -> str:
    """Return all requested formats, one after the other."""
    from cinder.api.schemas.page_parts import format_change

    texts = [data[key] for key in ("content", "html", "rawHtml", "summary") if key in data]
    texts += ["\n".join(data[key]) for key in ("links", "images") if key in data]
    if "branding" in data:
        texts.append(json.dumps(data["branding"], ensure_ascii=False, indent=2))
    if "changeTracking" in data:
        texts.append(format_change(data["changeTracking"]))
    texts += [_format_action(action) for action in data.get("actions", [])]
    return "\n\n".join(text.strip("\n") for text in texts)


def _format_action(action: dict[str, Any]) -> str:
    """Return the message and the texts of an action; only the JSON has its screenshot."""
    lines = [f"{action['type']}: {action['message']} ({action['elapsedMs']} ms)"]
    if "result" in action:
        lines.append(json.dumps(action["result"], ensure_ascii=False))
    if text := action.get("markdown") or action.get("html"):
        lines.append(text)
    return "\n".join(lines)


def _print_source(data: dict[str, Any]) -> None:
    origin = f"cached {data['cacheAge'] // 1000} s ago" if data["cached"] else "fresh"
    uris = data.get("savedUris", {})
    saved = uris.get("cleaned") or uris.get("raw")
    if "screenshot" in uris:
        saved = f"{saved} and {uris['screenshot']}"
    line = f"{data['url']}  {data['verdict']}, {origin}"
    print(f"{line}, saved as {saved}" if saved else line, file=sys.stderr)
    if "nextStep" in data:
        print(f"{data['verdict']}: {data['evidence']}. {data['nextStep']}", file=sys.stderr)
    metadata = data.get("metadata", {})
    if "continuation" in metadata:
        text = metadata["continuation"].replace("startIndex", "--start-index")
        print(text.replace("maxChars", "--max-chars"), file=sys.stderr)
    if "warning" in data:
        print(f"Warning: {data['warning']}", file=sys.stderr)
