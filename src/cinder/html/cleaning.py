"""Removes code, hidden parts, page chrome and excluded elements from a page."""

import re
from collections.abc import Sequence
from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from cinder.errors import FieldProblem, InvalidRequest
from cinder.html.css.declarations import read_declarations
from cinder.html.links import is_data_image
from cinder.html.tree import (
    HIDDEN_MARK,
    Elements,
    ancestors,
    child_nodes,
    clear_marks,
    detach,
    element_walk,
)
from cinder.html.visibility.contrast import sets_colour
from cinder.html.visibility.hidden_text import (
    HiddenText,
    find_blending,
    find_doubtful,
    find_hidden,
    is_hidden,
)
from cinder.html.visibility.hiding_rules import HidingRules
from cinder.html.vocabulary import load_vocabulary

_INVISIBLE_TAGS = frozenset(
    (
        *(
            "applet",
            "base",
            "canvas",
            "datalist",
            "embed",
            "frame",
            "head",
            "iframe",
            "link",
            "map",
        ),
        *("meta", "noembed", "noframes", "noscript", "object", "param", "script", "style"),
        *("svg", "template", "title"),
    )
)
# Comments, and processing instructions, which have no tag.
_NEVER_SHOWN = _INVISIBLE_TAGS | {"-comment", None}
# Their content is for browsers that do not know them.
_WITH_FALLBACK = ("audio", "meter", "progress", "video")
_MEDIA_PARTS = frozenset(("img", "picture", "source", "track"))
_CELLS = frozenset(("td", "th"))
_SLOT_NAME = re.compile(
    r"<slot(?![\w-])(?:[^>]{0,200}?\sname\s*=\s*[\"']?([\w-]+))?", re.IGNORECASE
)
_MAX_COLUMNS = 20
_MAX_ROWS = 5_000
_CHROME_TAGS = frozenset(load_vocabulary()["chrome"]["tags"])
_CHROME_ROLES = frozenset(load_vocabulary()["chrome"]["roles"])
_CHROME_CANDIDATES = (*_CHROME_TAGS, "header", "footer", "form")
_MAX_ANCESTORS = 500
_CONTENT_TAGS = frozenset(("article", "main"))
# A form with more text than this contains the page, not only fields.
_FORM_MAX_TEXT = 600
_NO_RULES = HidingRules()


def remove_matching(tree: LexborHTMLParser, selectors: Sequence[str]) -> None:
    """Remove every element that matches one of the `excludeTags`.

    Raises:
        InvalidRequest: a selector is not valid CSS.
    """
    for selector in selectors:
        detach(_select(tree, selector, "excludeTags"))


def find_included(tree: LexborHTMLParser, selectors: Sequence[str]) -> list[LexborNode]:
    """Return the outermost elements that match one of the `includeTags`, in document order.

    Raises:
        InvalidRequest: a selector is not valid CSS.
    """
    matching = {node.mem_id for s in selectors for node in _select(tree, s, "includeTags")}
    if tree.root is None or not matching:
        return []
    outermost: list[LexborNode] = []
    inside: set[int] = set()
    for node in element_walk(tree.root):
        parent = node.parent
        if parent is not None and parent.mem_id in inside:
            inside.add(node.mem_id)
        elif node.mem_id in matching:
            inside.add(node.mem_id)
            outermost.append(node)
    return outermost


def remove_invisible(
    elements: Elements, rules: HidingRules = _NO_RULES, report: HiddenText | None = None
) -> None:
    """Remove scripts, styles, comments, embedded documents, hidden elements and empty images.

    The hidden text goes into the report.
    """
    dead = {
        place for place in elements.tagged("img") if not elements.attributes(place).get("src")
    }.union(elements.tagged(*_NEVER_SHOWN))
    hidden: list[LexborNode] = []
    coloured: list[LexborNode] = []
    marked: list[LexborNode] = []
    for place in find_doubtful(elements, rules):
        node, attributes = elements.node(place), elements.attributes(place)
        tag = node.tag
        if place in dead or not (attributes or tag == "dialog"):
            continue
        if is_hidden(tag, attributes, rules):
            hidden.append(node)
        elif sets_colour(tag, attributes):
            coloured.append(node)
        elif HIDDEN_MARK in attributes:
            marked.append(node)
    hidden += (*_unslotted(elements), *_collapsed_cells(elements))
    detach(elements.nodes(dead))
    for node in elements.nodes(elements.tagged(*_WITH_FALLBACK)):
        detach([inner for inner in child_nodes(node) if inner.tag not in _MEDIA_PARTS])
    hidden += find_blending(coloured, rules)
    outermost = find_hidden(hidden, elements.root, rules)
    if report is not None:
        report.add(outermost, rules)
    detach(outermost)
    for node in (*hidden, *coloured, *marked):
        clear_marks(node)


def _unslotted(elements: Elements) -> list[LexborNode]:
    """Return the elements that the declared shadow tree of their parent has no slot for."""
    found: list[LexborNode] = []
    hosts = set[int]()
    for shadow in elements.nodes(elements.having("shadowrootmode")):
        host = shadow.parent
        if host is None or host.mem_id in hosts:
            continue
        hosts.add(host.mem_id)
        slots = {match[1] or "" for match in _SLOT_NAME.finditer(shadow.html or "")}
        children = (node for node in host.iter() if "shadowrootmode" not in node.attributes)
        found += (node for node in children if (node.attributes.get("slot") or "") not in slots)
    return found


def _collapsed_cells(elements: Elements) -> list[LexborNode]:
    """Return the cells of table columns that are collapsed."""
    found: list[LexborNode] = []
    columns = (
        elements.node(place)
        for place in elements.tagged("col")
        if "collapse" in (elements.attributes(place).get("style") or "").lower()
    )
    for column in islice(columns, _MAX_COLUMNS):
        declared = read_declarations(column.attributes.get("style") or "")
        table = next((above for above in ancestors(column, 2) if above.tag == "table"), None)
        if table is None or declared.get("visibility") != "collapse":
            continue
        number = [each.mem_id for each in table.css("col")].index(column.mem_id)
        for row in table.css("tr")[:_MAX_ROWS]:
            found += [cell for cell in row.iter() if cell.tag in _CELLS][number : number + 1]
    return found


def remove_base64_images(elements: Elements) -> None:
    """Remove images and sources with `data:` addresses."""
    for place in elements.tagged("img", "source"):
        attributes = elements.attributes(place)
        if is_data_image(attributes.get("src") or attributes.get("srcset") or ""):
            detach([elements.node(place)])


def remove_chrome(elements: Elements) -> None:
    """Remove navigation, side bars, forms, and the headers and footers of the page itself."""
    places = {*elements.tagged(*_CHROME_CANDIDATES), *elements.having("role")}
    root = elements.root
    detach([node for node in elements.nodes(sorted(places)) if _is_chrome(node, root)])


def strip_attributes(root: LexborNode) -> None:
    """Remove event handlers and inline styles."""
    for node in element_walk(root):
        names = node.attributes.keys()
        for name in [name for name in names if name.startswith("on") or name == "style"]:
            del node.attrs[name]


def _select(tree: LexborHTMLParser, selector: str, field: str) -> list[LexborNode]:
    try:
        return tree.css(selector)
    except SelectolaxError:
        problem = FieldProblem(field, f"Not a valid CSS selector: {selector[:200]!r}")
        raise InvalidRequest(problems=(problem,)) from None


def _is_chrome(node: LexborNode, root: LexborNode) -> bool:
    tag = node.tag
    if tag == "form":
        return len(node.text(separator=" ", strip=True)) <= _FORM_MAX_TEXT
    if tag not in ("header", "footer"):
        return tag in _CHROME_TAGS or node.attributes.get("role") in _CHROME_ROLES
    # The header or footer of an article is content.
    for above in ancestors(node, _MAX_ANCESTORS):
        if above.tag in _CONTENT_TAGS:
            return False
        if above.mem_id == root.mem_id:
            break
    return True
