"""Labelled pages: the development pages of a folder, read the way cinder reads pages."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import can_ada
from selectolax.lexbor import create_tag

from cinder.html.cleaning import remove_invisible
from cinder.html.deferred_content import place_deferred_content
from cinder.html.main_content.blocks import BlockTree, read_blocks
from cinder.html.main_content.features import PageHints, read_hints
from cinder.html.metadata.page_metadata import read_metadata
from cinder.html.tree import Elements, content_root, document_base, parse_html
from cinder.html.visibility.hiding_rules import read_hiding_rules
from cinder.text.content_type import decode_body
from cinder.text.terms import extra_words
from training.documentation import DOC_SITES, sample_pages
from training.labels import label_blocks

# Collections with few pages, whose truth or markup differs from the others, count more: the scorer
# would learn nothing from them otherwise. Documentation pages are many blocks of one make.
_COLLECTION_WEIGHTS = {"wcxb": 1.0, "aeb": 12.0, "languages": 2.0}
_DOCUMENTATION_WEIGHT = 0.25
_DOCUMENTATION_PAGES = 30
_MIN_TRUTH_WORDS = 80
_MAX_BLOCK_WEIGHT = 3.0
_SECOND_LEVEL = frozenset(("ac", "co", "com", "edu", "gov", "net", "org"))


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """A page's blocks with their labels, and how much each counts: about its share of the page."""

    key: str
    site: str
    tree: BlockTree
    hints: PageHints
    labels: list[float]
    weights: list[float]


def load_pages(data: Path) -> list[LabelledPage]:
    """Return all pages of the folder that have any text, and those of installed documentation."""
    found = [
        _load(data / collection, row, weight)
        for collection, weight in _COLLECTION_WEIGHTS.items()
        for row in _read_truth(data / collection)
    ]
    for site in DOC_SITES:
        for path, html in sample_pages(site, _DOCUMENTATION_PAGES):
            key, truth = f"docs/{site.name}/{path.name}", site.read_truth(html)
            found.append(_label(key, site.url_of(path), html, truth, _DOCUMENTATION_WEIGHT))
    return [page for page in found if page is not None]


def _read_truth(folder: Path) -> Iterator[Mapping[str, str | None]]:
    with gzip.open(folder / "truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _load(folder: Path, row: Mapping[str, str | None], weight: float) -> LabelledPage | None:
    body = gzip.decompress((folder / "html" / f"{row['id']}.html.gz").read_bytes())
    # Most truths leave the title out, but that is kept whatever its score.
    key, html = f"{folder.name}/{row['id']}", decode_body(body, "")
    return _label(key, row["url"] or "", html, row["text"] or "", weight)


def _label(key: str, url: str, html: str, truth: str, weight: float) -> LabelledPage | None:
    read = _read_page(html, url)
    if read is None or not read[0].blocks:
        return None
    tree, hints = read
    labels = label_blocks([block.text for block in tree.blocks], truth)
    words = max(len(truth.split()) + extra_words(truth), _MIN_TRUTH_WORDS)
    weights = [weight * min((block.words + 1) / words, _MAX_BLOCK_WEIGHT) for block in tree.blocks]
    _let_go_of_nodes(tree)
    return LabelledPage(key, _site(url) or key, tree, hints, labels, weights)


def _read_page(text: str, url: str) -> tuple[BlockTree, PageHints] | None:
    parsed = parse_html(text)
    body = content_root(parsed)
    if body is None:
        return None
    elements = Elements.of_page(parsed)
    metadata = read_metadata(elements, document_base(parsed, url), url)
    hints = read_hints(parsed, metadata, url)
    rules = read_hiding_rules(elements)
    place_deferred_content(elements.within(body))
    remove_invisible(Elements(body), rules)
    return read_blocks(body), hints


def _let_go_of_nodes(tree: BlockTree) -> None:
    # A node keeps its whole page in memory, and training holds all pages at once.
    nothing = create_tag("div")
    for element in tree.elements:
        element.node, element.wrapper = nothing, None
    for block in tree.blocks:
        block.nodes.clear()
    tree.pictures.clear()


def _site(url: str) -> str:
    """Return roughly the registered domain; pages of one site must not be apart."""
    try:
        labels = can_ada.parse(url).hostname.split(".")
    except ValueError:
        return ""
    is_second_level = len(labels) > 2 and labels[-2] in _SECOND_LEVEL and len(labels[-1]) == 2
    return ".".join(labels[-3 if is_second_level else -2 :])
