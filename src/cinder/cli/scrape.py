"""`cinder scrape`: prints pages, or writes them to files."""

import asyncio
import json
import mimetypes
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinder.api.errors import EXIT_FAILURE, describe_error, report_failure
from cinder.cli.backends import read_quiet_settings
from cinder.cli.options import WholeAnswer, parse_options, takes_options
from cinder.cli.output import show_status, write_media, write_text
from cinder.cli.start_up import importing
from cinder.errors import CinderError, InvalidRequest
from cinder.models.request import OWNER, ResultHandling, ScrapeRequest

if TYPE_CHECKING:
    from cinder.services.scraping.outcome import ScrapeOutcome

_PAGES_AT_ONCE = 5
_MAX_NAME_CHARS = 150


# `cinder extract` takes data from single pages.
@takes_options(ScrapeRequest, without={"extractSchema"})
def scrape(
    urls: Annotated[
        list[str],
        typer.Argument(metavar="URL...", help="One page or several; https:// may be left out."),
    ],
    *,
    parse_pdf: Annotated[
        bool | None,
        typer.Option(
            "--parse-pdf/--no-parse-pdf",
            help="Turn a PDF into text, or return the file.",
            show_default="text, unless --output is a .pdf",
        ),
    ] = None,
    max_pages: Annotated[int | None, typer.Option(help="Pages of a PDF to parse.")] = None,
    no_save: Annotated[bool, typer.Option("--no-save", help="Save nothing.")] = False,
    max_chars: Annotated[int | None, typer.Option(help="Show at most so many characters.")] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Show at most so many tokens, of about four bytes each.")
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
        Path | None,
        typer.Option("--output", "-o", help="Write to this file; several pages to this folder."),
    ] = None,
    **options: Any,  # Any: what the flags of the options hold
) -> None:
    """Print pages as clean markdown, or in another format."""
    with _json_failures(as_json):
        arguments: dict[str, Any] = {
            **parse_options(options),
            "maxChars": max_chars,
            "maxTokens": max_tokens,
            "startIndex": start_index,
            "section": section,
            "query": query,
        }
        is_file_wanted = output is not None and output.suffix.lower() == ".pdf"
        if max_pages is not None:
            if parse_pdf is False:
                raise InvalidRequest.at("--max-pages", "Leave it out with --no-parse-pdf")
            arguments["parsers"] = [{"type": "pdf", "maxPages": max_pages}]
        elif parse_pdf or (parse_pdf is None and not is_file_wanted):
            arguments["parsers"] = [{"type": "pdf"}]
        if no_save:
            arguments["resultHandling"] = ResultHandling.RETURN_ONLY
        form = PageForm(as_json=as_json, outline=outline)
        if len(urls) == 1 and not (output is not None and output.is_dir()):
            asyncio.run(_scrape(urls, arguments, lambda _, page: form.write(page, output)))
            return
        pages = SeveralPages(form, output)
        asyncio.run(_scrape(urls, arguments, pages.show))
    pages.end()
    if pages.failures:
        print(f"cinder: {pages.failures} of {len(urls)} pages failed", file=sys.stderr)
        raise typer.Exit(EXIT_FAILURE)


@contextmanager
def _json_failures(as_json: bool) -> Iterator[None]:
    """Print a failure as JSON if the output is JSON; the line on standard error follows."""
    try:
        yield
    except CinderError as error:
        if as_json:
            print(json.dumps({"error": describe_error(error)}, ensure_ascii=False, indent=2))
        raise


@dataclass(frozen=True, slots=True)
class ScrapedPage:
    """A page: the answer, and the outcome that it describes."""

    data: dict[str, Any]
    outcome: "ScrapeOutcome"


ShowPage = Callable[[str, ScrapedPage | CinderError], None]


async def _scrape(urls: list[str], raw: dict[str, Any], show: ShowPage) -> None:
    """Scrape the URLs, a few at a time, and show each in the given order."""
    with importing():
        from cinder.api.arguments import read_arguments
        from cinder.api.schemas.page_parts import with_page_metadata
        from cinder.api.schemas.scrape import SCRAPE_CHECKS, ScrapeArguments, answer_outcome
        from cinder.app.composition import open_app
        from cinder.models.request import Format

    pages = [read_arguments(ScrapeArguments, {**raw, "url": url}, *SCRAPE_CHECKS) for url in urls]
    settings = read_quiet_settings()
    ceiling = settings.server.result_max_chars_ceiling
    async with open_app(settings) as app:

        async def scrape_one(arguments: ScrapeArguments) -> ScrapedPage | CinderError:
            request = arguments.to_request(caller=OWNER, default_formats=(Format.MARKDOWN,))
            try:
                outcome = await app.scrape.scrape(request)
                window = arguments.window(ceiling, ceiling)
                data = await answer_outcome(outcome, request, window)
            except CinderError as error:
                return error
            return ScrapedPage(with_page_metadata(data, outcome.document), outcome)

        for start in range(0, len(urls), _PAGES_AT_ONCE):
            some = slice(start, start + _PAGES_AT_ONCE)
            several = f"pages {start + 1} to {min(some.stop, len(urls))} of {len(urls)}"
            with show_status(f"Fetching {pages[0].url if len(urls) == 1 else several}"):
                scraped = await asyncio.gather(*map(scrape_one, pages[some]))
            for url, page in zip(urls[some], scraped, strict=True):
                show(url, page)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageForm:
    """What is shown of a page: its text or its JSON, the whole or the outline."""

    as_json: bool
    outline: bool

    def write(self, page: ScrapedPage | CinderError, output: Path | None) -> None:
        """Print a page, or write it to a file.

        Raises:
            CinderError: the page failed, or has no outline.
        """
        if isinstance(page, CinderError):
            raise page
        if self.as_json:
            write_text(json.dumps(self.to_json(page), ensure_ascii=False, indent=2), output)
        elif self.outline:
            metadata = page.data["metadata"]
            headings, rest = self.to_json(page), metadata.get("outlineLeftOut", 0)
            write_text(outline_text(headings, rest), output)
        else:
            write_outcome(page.data, page.outcome, output)
            _print_source(page.data)

    def to_json(self, page: ScrapedPage) -> Any:  # Any: JSON
        """Return what `--json` prints of a page.

        Raises:
            InvalidRequest: the page has no outline.
        """
        if not self.outline:
            return page.data
        if "outline" not in page.data["metadata"]:
            message = "Only a page with markdown has one; leave it out"
            raise InvalidRequest.at("--outline", message)
        return page.data["metadata"]["outline"]


@dataclass(slots=True)
class SeveralPages:
    """Prints pages one after the other, or writes each to a file of a folder."""

    form: PageForm
    folder: Path | None
    failures: int = 0
    _listed: list[dict[str, Any]] = field(default_factory=list)
    _names: set[str] = field(default_factory=set)

    def show(self, url: str, page: ScrapedPage | CinderError) -> None:
        """Show a page; a failure is reported and counted."""
        try:
            if isinstance(page, CinderError):
                raise page
            if self.folder is not None:
                self._write(page, self.folder)
            elif self.form.as_json:
                shown = self.form.to_json(page)
                self._listed.append({"url": url, "outline": shown} if self.form.outline else shown)
            else:
                print(f"==> {url} <==")
                self.form.write(page, None)
                print()
        except CinderError as error:
            self.failures += 1
            self._listed.append({"url": url, "error": describe_error(error)})
            report_failure(error)

    def end(self) -> None:
        """Print the list that `--json` collected."""
        if self.form.as_json and self.folder is None:
            write_text(json.dumps(self._listed, ensure_ascii=False, indent=2), None)

    def _write(self, page: ScrapedPage, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        document = page.outcome.document
        stem = name = re.sub(r"[^\w.-]+", "-", document.url.partition("://")[2]).strip("-.")
        stem = name = stem[:_MAX_NAME_CHARS]
        while name in self._names:
            name = f"{stem}-{len(self._names)}"
        self._names.add(name)
        if self.form.as_json or self.form.outline:
            self.form.write(page, folder / f"{name}{'.json' if self.form.as_json else '.txt'}")
            return
        kind = str(page.data.get("contentType", "")).partition(";")[0]
        suffix = ".md" if kind == "text/markdown" else mimetypes.guess_extension(kind) or ".txt"
        text, picture = _as_text(page.data), document.screenshot
        if document.media is not None:
            write_media(kind, document.media.data, folder / f"{name}{suffix}")
        elif text or picture is None:
            write_text(text, folder / f"{name}{suffix}")
        if picture is not None:
            write_media(picture.mime, picture.data, folder / f"{name}.png")
        _print_source(page.data)


def write_outcome(data: dict[str, Any], outcome: "ScrapeOutcome", output: Path | None) -> None:
    """Write the requested formats; a screenshot goes to a PNG file, text to standard output."""
    document, text = outcome.document, _as_text(data)
    if document.media is not None:
        write_media(document.media.mime, document.media.data, output)
        if output is None and document.media.mime == "application/pdf":
            print("Leave out --no-parse-pdf to read its text.", file=sys.stderr)
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


def _as_text(data: dict[str, Any]) -> str:
    """Return all requested formats, one after the other."""
    from cinder.api.schemas.page_parts import format_change

    texts = [data[key] for key in ("content", "html", "rawHtml", "summary") if key in data]
    texts += ["\n".join(data[key]) for key in ("links", "images") if key in data]
    if "linksDetail" in data:
        columns = ("url", "text", "section", "rel")
        lines = ["\t".join(link.get(key, "") for key in columns) for link in data["linksDetail"]]
        texts.append("\n".join(lines))
    if "branding" in data:
        texts.append(json.dumps(data["branding"], ensure_ascii=False, indent=2))
    if "changeTracking" in data:
        texts.append(format_change(data["changeTracking"]))
    for action in data.get("actions", []):
        # Only the JSON has its screenshot.
        lines = [f"{action['type']}: {action['message']} ({action['elapsedMs']} ms)"]
        if "result" in action:
            lines.append(json.dumps(action["result"], ensure_ascii=False))
        if text := action.get("markdown") or action.get("html"):
            lines.append(text)
        texts.append("\n".join(lines))
    return "\n\n".join(text.strip("\n") for text in texts)


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
