"""`cinder scrape`: prints one page."""

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinder.cli.output import write_media, write_text
from cinder.errors import CinderError, FieldProblem, InvalidRequest
from cinder.models.request import OWNER

if TYPE_CHECKING:
    from cinder.services.scraping.outcome import ScrapeOutcome


def scrape(
    url: Annotated[str, typer.Argument(help="The page; https:// may be left out.")],
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            "-f",
            help="markdown, html, rawHtml, links, images, summary, screenshot, fullscreenshot, "
            "branding or changeTracking; repeatable.",
        ),
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
        bool,
        typer.Option(
            "--whole-page",
            help="Keep more than the main content; navigation, headers and footers stay out "
            "unless scrape.strip-chrome-tags is off.",
        ),
    ] = False,
    parse_pdf: Annotated[
        bool, typer.Option("--parse-pdf", help="Turn a PDF into text instead of handing it on.")
    ] = False,
    max_pages: Annotated[
        int | None, typer.Option(help="Pages of a PDF to parse; implies --parse-pdf.")
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(help="static (no browser), dynamic (a browser) or smart (either)."),
    ] = None,
    wait_for: Annotated[
        int | None, typer.Option(help="Milliseconds to wait on the page in a browser.")
    ] = None,
    action: Annotated[
        list[str] | None,
        typer.Option(
            help='What to do on the page, as JSON: \'{"type": "click", "selector": "#more"}\'; '
            "repeatable."
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(help="default (a fresh browser) or master (the one you logged in with)."),
    ] = None,
    proxy: Annotated[str | None, typer.Option(help="basic, stealth or auto.")] = None,
    no_block_ads: Annotated[
        bool, typer.Option("--no-block-ads", help="Let a browser load ads and pop-ups.")
    ] = False,
    timeout: Annotated[int | None, typer.Option(help="Milliseconds for the whole request.")] = None,
    max_age: Annotated[
        int | None, typer.Option(help="Oldest kept answer to take, in milliseconds.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Fetch anew, whatever is kept.")] = False,
    no_save: Annotated[bool, typer.Option("--no-save", help="Keep nothing.")] = False,
    max_chars: Annotated[int | None, typer.Option(help="Show at most so many characters.")] = None,
    start_index: Annotated[int, typer.Option(help="Show from this character on.")] = 0,
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
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole answer as JSON.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the content to this file.")
    ] = None,
) -> None:
    """Print a page as clean markdown, or in another format."""
    with _json_failures(as_json):
        given: dict[str, Any] = {
            "url": url,
            "formats": formats,
            "headers": parse_headers(header or []),
            "includeTags": include,
            "excludeTags": exclude,
            "onlyMainContent": not whole_page,
            "parsers": _pdf_parser(max_pages) if parse_pdf or max_pages is not None else None,
            "mode": mode,
            "waitFor": wait_for,
            "actions": parse_actions(action or []),
            "profile": profile,
            "proxy": proxy,
            "blockAds": not no_block_ads,
            "timeout": timeout,
            "maxAge": max_age,
            "forceRescrape": fresh,
            "resultHandling": "returnOnly" if no_save else "saveAndReturn",
            "maxChars": max_chars,
            "startIndex": start_index,
            "section": section,
            "query": query,
        }
        data, outcome = asyncio.run(_scrape(given))
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
    """Print a failure as JSON where the answer was to be JSON; the line on it comes after."""
    try:
        yield
    except CinderError as error:
        if as_json:
            from cinder.api.errors import describe_error

            print(json.dumps({"error": describe_error(error)}, ensure_ascii=False, indent=2))
        raise


async def _scrape(given: dict[str, Any]) -> "tuple[dict[str, Any], ScrapeOutcome]":
    from cinder.api.arguments import read_arguments
    from cinder.api.schemas.page_parts import with_page_metadata
    from cinder.api.schemas.scrape import SCRAPE_CHECKS, ScrapeArguments, answer_outcome
    from cinder.app import open_app
    from cinder.config import read_settings
    from cinder.logs import configure_logs
    from cinder.models.request import Format

    arguments = read_arguments(ScrapeArguments, given, *SCRAPE_CHECKS)
    request = arguments.to_request(caller=OWNER, default_formats=(Format.MARKDOWN,))
    settings = read_settings()
    configure_logs("warning" if settings.log.level == "info" else settings.log.level)
    ceiling = settings.server.result_max_chars_ceiling
    async with open_app(settings) as app:
        with _progress(f"Fetching {request.url}"):
            outcome = await app.scrape.scrape(request)
    data = await answer_outcome(outcome, request, arguments.window(ceiling, ceiling))
    return with_page_metadata(data, outcome.document), outcome


def _pdf_parser(max_pages: int | None) -> list[dict[str, Any]]:
    return [{"type": "pdf"} if max_pages is None else {"type": "pdf", "maxPages": max_pages}]


def parse_headers(lines: list[str]) -> dict[str, str]:
    """Return the headers that the command line names.

    Raises:
        InvalidRequest: one of them has no colon.
    """
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            problem = FieldProblem("--header", f"Expected 'Name: value', received {line!r}")
            raise InvalidRequest(problems=(problem,))
        headers[name.strip()] = value.strip()
    return headers


def parse_actions(texts: list[str]) -> list[Any]:  # Any: what they hold is checked with the rest
    """Return the actions that the command line names.

    Raises:
        InvalidRequest: one of them is not JSON.
    """
    actions = []
    for text in texts:
        try:
            actions.append(json.loads(text))
        except (ValueError, RecursionError):
            problem = FieldProblem("--action", f"Expected JSON, received {text[:100]!r}")
            raise InvalidRequest(problems=(problem,)) from None
    return actions


def write_outcome(data: dict[str, Any], outcome: "ScrapeOutcome", output: Path | None) -> None:
    """Write what was asked for; a screenshot goes to a PNG file, the text beside it elsewhere."""
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
    """Return the headings of an answer, and how many it leaves out."""
    metadata = data["metadata"]
    if "outline" not in metadata:
        problem = FieldProblem("--outline", "Only a page with markdown has one; leave it out")
        raise InvalidRequest(problems=(problem,))
    return metadata["outline"], metadata.get("outlineLeftOut", 0)


def _progress(message: str) -> Any:  # Any: rich's status, or nothing
    from contextlib import nullcontext

    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(message)


def _as_text(data: dict[str, Any]) -> str:
    """Return every format asked for, one after the other."""
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
    """Return what an action did and brought; its screenshot stands in the JSON alone."""
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
        options = {"startIndex": "--start-index", "maxChars": "--max-chars"}
        print(_replace_words(metadata["continuation"], options), file=sys.stderr)
    if "warning" in data:
        print(f"Warning: {data['warning']}", file=sys.stderr)


def _replace_words(text: str, words: dict[str, str]) -> str:
    for word, spelling in words.items():
        text = text.replace(word, spelling)
    return text
