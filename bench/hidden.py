"""Hidden text: how many ways of hiding a sentence pass, and how much of ordinary pages is lost.

A way passes if the sentence is in the markdown and no warning reports hidden text. Ordinary pages
lose words if words of their truth are not in the markdown of the whole page.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from bench.corpus import Page, load_scorer, read_pages
from bench.serving import Resource, run_module, serve
from cinder.app.composition import App, open_app
from cinder.browser.tab import Tab, script_call
from cinder.browser.visit import remove_unseen_marks
from cinder.config.settings import read_settings
from cinder.documents.page_content import extract_content
from cinder.models.document import HiddenPart
from cinder.models.request import (
    CachePolicy,
    ContentOptions,
    ExtractOptions,
    Mode,
    RenderOptions,
    ScrapeRequest,
)
from tests.browser.bare_chromium import open_tab, show
from tests.browser.blank_font import blank_font

BAR_RENDERED, BAR_STATIC = 3, 7
# A click or a search in the page shows them: they are content.
REACHABLE = frozenset(("details", "hidden-until-found"))
ORDINARY_PAGES = 150
# Not an order to agents: such an order is reported wherever it is.
SENTENCE = "The ferry to the burnt hut leaves the northern landing at seven on weekdays in summer."
SEEN = "<p class=v>Oak and birch burn slowly, and their coals glow until the next morning.</p>"
PAGE = """<!DOCTYPE html><html lang=en><head><title>Fires</title>{head}</head><body>
<article><h1 class=v>Fires</h1>{seen}<div>{html}</div>{seen}</article></body></html>"""
MARK = "data-0123456789abcdef"
WHOLE_PAGE = ExtractOptions(content=ContentOptions(only_main_content=False))
# Saved pages ask for nothing and run nothing.
POLICY = (
    "<meta http-equiv=Content-Security-Policy "
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)


@dataclass(frozen=True, slots=True)
class Way:
    """A way of hiding a sentence, and its place in the file."""

    line: int
    name: str
    head_css: str
    html: str

    @property
    def page(self) -> str:
        """A page that hides the sentence in this way."""
        head = f"<style>{self.head_css}</style>" if self.head_css else ""
        if self.head_css == "LINK":
            head = "<link rel=stylesheet href=/hiding.css>"
        html = self.html.replace("{S}", SENTENCE)
        return PAGE.format(head=head, html=html, seen=SEEN * 4)


async def bench_hidden(data: Path, sample: int | None) -> None:
    """Print which ways pass in static and rendered pages, and what ordinary pages keep."""
    file = data / "hidden/ways.jsonl"
    if not file.exists():
        print(f"hidden text: not measured, {file} is missing: name its folder by DATA=")
        return
    ways = read_ways(file)
    with tempfile.TemporaryDirectory() as folder:
        async with run_module("bench.hidden", str(file)) as website:
            settings = read_settings(data_dir=Path(folder), egress={"allow": [website.address]})
            async with open_app(settings) as app:
                for mode, bar in ((Mode.DYNAMIC, BAR_RENDERED), (Mode.STATIC, BAR_STATIC)):
                    passed = [w for w in ways if await _passes(app, website.address, w, mode)]
                    _print_passed(mode, passed, len(ways), bar)
    if (data / "score.py").exists():
        await _print_kept(read_pages(data, sample or ORDINARY_PAGES), load_scorer(data))


def read_ways(file: Path) -> list[Way]:
    """Return the ways of a file, one a line."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [Way(number, **json.loads(line)) for number, line in enumerate(lines, 1)]


async def _passes(app: App, address: str, way: Way, mode: Mode) -> bool:
    request = ScrapeRequest(
        url=f"http://{address}/{way.line}",
        render=RenderOptions(mode=mode),
        cache=CachePolicy(force_rescrape=True),
        content=WHOLE_PAGE.content,
    )
    document = (await app.scrape.scrape(request)).document
    is_reported = any("a visitor cannot see" in warning for warning in document.content.warnings)
    return SENTENCE in (document.content.markdown or "") and not is_reported


def _print_passed(mode: Mode, passed: Sequence[Way], count: int, bar: int) -> None:
    kind = "rendered" if mode is Mode.DYNAMIC else "static"
    even = sum(way.line % 2 == 0 for way in passed)
    reachable = [way.name for way in passed if way.name in REACHABLE]
    names = [way.name for way in passed if way.name not in REACHABLE]
    print(
        f"hidden text: of {count} ways {len(passed)} pass in {kind} pages (bar {bar}), {even} on "
        f"even lines and {len(passed) - even} on odd ones: {', '.join(names)}; "
        f"shown by a click or a search: {', '.join(reachable)}"
    )


async def _print_kept(pages: Sequence[Page], scorer: ModuleType) -> None:
    static, rendered, reported = 0.0, 0.0, 0
    pages = [page for page in pages if page.dataset == "wcxb"]
    with tempfile.TemporaryDirectory() as folder:
        async with open_tab(Path(folder)) as tab:
            for page in pages:
                truth, body = scorer.words(page.text), page.read_body()
                text = _markdown(body, page.url)[0]
                static += scorer.overlap(scorer.words(scorer.plain(text)), truth)[1]
                text, is_reported = await _rendered(tab, body, page.url)
                rendered += scorer.overlap(scorer.words(scorer.plain(text)), truth)[1]
                reported += is_reported
    count = len(pages)
    print(
        f"hidden text: {count} ordinary pages keep {static / count:.4f} of their words in static "
        f"pages and {rendered / count:.4f} in rendered ones; {reported} of those are reported"
    )


async def _rendered(tab: Tab, body: bytes, url: str) -> tuple[str, bool]:
    await show(tab, POLICY + body.decode(errors="replace"))
    taken = await tab.evaluate(script_call("seen_html", MARK, sys.maxsize))
    html, unseen = remove_unseen_marks(taken["html"], MARK)
    return _markdown(html.encode(), url, unseen)


def _markdown(body: bytes, url: str, unseen: tuple[HiddenPart, ...] = ()) -> tuple[str, bool]:
    made = extract_content(
        body, content_type="text/html", url=url, options=WHOLE_PAGE, unseen=unseen
    )
    return made.markdown or "", any("cannot see" in warning for warning in made.warnings)


async def _serve(file: Path) -> None:
    pages = {f"/{way.line}": way.page.encode() for way in read_ways(file)}
    font = blank_font()

    async def resource_at(path: str) -> Resource:
        if path.endswith(".css"):
            return Resource("text/css", b".imp, .h { display: none }")
        if path.endswith((".woff", ".woff2", ".ttf")):
            return Resource("font/ttf", font)
        return Resource("text/html; charset=utf-8", pages.get(path, b""))

    await serve(resource_at)


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
