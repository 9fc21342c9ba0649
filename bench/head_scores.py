"""What markdown begins with: the heading that a page shows, once, and the picture that it names."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from bench.corpus import KINDS, Page
from bench.prediction import Predictions

HEADING_BAR, IMAGE_BAR = 0.95, 0.8
_PAGES_OF_A_KIND = 12
_NAMED_IMAGES = 'meta[property="og:image"], meta[name="twitter:image"], meta[name="og:image"]'
_SOURCES = ("src", "srcset", "data-src", "data-srcset", "data-lazy-src", "data-original")
_MIN_NAME_CHARS = 5
# The end of a file's name that tells its size.
_SIZE = re.compile(r"[-_.](?:\d+x\d+|\d{2,4}w?|scaled|large|medium|small)$|@\dx$")
_LINK_TARGET = re.compile(r"\]\([^)]*\)")
_NOT_LETTERS = re.compile(r"[\W_]+")


def print_head_scores(pages: Sequence[Page], predictions: Predictions) -> None:
    """Print how often the heading is on top, and the main image kept."""
    pages = [page for page in pages if page.dataset == "wcxb"]
    some = [
        page
        for kind in KINDS
        for page in _spread([page for page in pages if page.kind == kind], _PAGES_OF_A_KIND)
    ]
    for name, sample in ((f"{_PAGES_OF_A_KIND} pages a kind", some), ("all pages", pages)):
        found: Counter[str] = Counter()
        for page in sample:
            found.update(_judge(page, predictions.by_key[page.key].text))
        print(
            f"{name}: an h1 is on top of {found['top']} of {found['h1']} pages that have one "
            f"({found['top'] / max(found['h1'], 1):.3f}, bar {HEADING_BAR}), twice on "
            f"{found['twice']}; the main image is kept on {found['kept']} of {found['image']} "
            f"pages that name and show one ({found['kept'] / max(found['image'], 1):.3f}, bar "
            f"{IMAGE_BAR})"
        )


def _spread(pages: Sequence[Page], count: int) -> Sequence[Page]:
    return pages[:: max(len(pages) // count, 1)][:count]


def _judge(page: Page, markdown: str) -> Iterator[str]:
    tree = LexborHTMLParser(page.read_body().decode("utf-8", "replace"))
    lines = [_letters(line) for line in markdown.splitlines() if line.startswith("#")]
    if headings := {key for node in tree.css("h1") if (key := _letters(node.text()))}:
        yield "h1"
        if markdown.startswith("# ") and lines[0] in headings:
            yield "top"
        if lines and lines[0] in lines[1:]:
            yield "twice"
    sources = " ".join(
        node.attributes.get(name) or "" for node in tree.css("img, source") for name in _SOURCES
    )
    images = (node.attributes.get("content") or "" for node in tree.css(_NAMED_IMAGES))
    names = [name for image in images if len(name := _file_name(image)) >= _MIN_NAME_CHARS]
    if shown := [name for name in names if name in unquote(sources).lower()]:
        yield "image"
        if any(name in unquote(markdown).lower() for name in shown):
            yield "kept"


def _letters(text: str) -> str:
    return _NOT_LETTERS.sub("", _LINK_TARGET.sub("]", text)).lower()


def _file_name(image: str) -> str:
    """Return the name of an image's file without its ending and size."""
    path = unquote(image).partition("?")[0].rstrip("/")
    return _SIZE.sub("", path.rpartition("/")[2].rpartition(".")[0].lower())
