"""Normalises inline elements for markdown: links, footnotes, super- and subscripts.

A reference to a note outside of the content becomes its number, `[1]`, without a link.
"""

import re
from urllib.parse import unquote

from selectolax.lexbor import LexborNode

from cinder.html.tree import (
    ancestors,
    append_element,
    child_nodes,
    detach,
    insert_element_before,
    move_into,
    raw_text,
    rename_element,
    unwrap,
)

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LINKED_BLOCKS = frozenset(
    (*_HEADINGS, "p", "div", "section", "article", "figure", "figcaption", "ul", "ol", "li", "dl")
)
_LINKS_IN_HEADINGS = ", ".join(f"{tag} a" for tag in _HEADINGS)
# The texts of links to headings, by the usual themes and generators.
_PERMALINK_TEXTS = frozenset(
    ("", "#", "##", "###", "¶", "§", "🔗", "⚓", "∞", "link", "anchor", "permalink", "[link]")
)
_EDIT_LINKS = ".mw-editsection, .headerlink, a.hash-link, a.header-anchor"
_MAX_LINK_ANCESTORS = 30


def normalise_links(root: LexborNode) -> None:
    """Drop links to their own heading, and move links around blocks into one block."""
    detach(root.css(_EDIT_LINKS))
    for link in root.css(_LINKS_IN_HEADINGS):
        text = raw_text(link).strip().strip("\u200b\u200c\u200d").lower()
        if text in _PERMALINK_TEXTS and link.css_first("img") is None:
            detach([link])
            continue
        heading = _enclosing(link, *_HEADINGS)
        fragment = (link.attributes.get("href") or "").rpartition("#")[1:]
        own_ids = {heading.id if heading is not None else None, link.id}
        if all(fragment) and fragment[1] in own_ids:
            unwrap(link)
    done: set[int] = set()
    # Links contain few elements, so this search is fast.
    for block in [node for node in root.css("a *") if node.tag in _LINKED_BLOCKS]:
        outer = _enclosing(block, "a")
        if outer is not None and outer.mem_id not in done:
            done.add(outer.mem_id)
            _move_inside(outer)


def _enclosing(node: LexborNode, *tags: str) -> LexborNode | None:
    around = ancestors(node, _MAX_LINK_ANCESTORS)
    return next((above for above in around if above.tag in tags), None)


def _move_inside(link: LexborNode) -> None:
    """Link the heading of a card, or its first line, instead of the whole card."""
    target = _titled_block(link)
    if target is not None:
        if href := link.attributes.get("href"):
            inside = child_nodes(target)
            inner_link = append_element(target, "a")
            inner_link.attrs["href"] = href
            move_into(inner_link, inside)
        unwrap(link)
        return
    images = link.css("img")
    if images and not raw_text(link).strip():
        # A link without words keeps only its images, which blocks around them would hide.
        inside = child_nodes(link)
        move_into(link, images)
        image_ids = {image.mem_id for image in images}
        detach([node for node in inside if node.mem_id not in image_ids and node.is_element_node])


def _titled_block(link: LexborNode) -> LexborNode | None:
    for heading in link.css(", ".join(_HEADINGS)):
        if raw_text(heading).strip():
            return heading
    for node in link.traverse(include_text=True, skip_empty=True):
        if node.is_text_node and (node.text_content or "").strip():
            block = _enclosing(node, "a", *_LINKED_BLOCKS)
            return block if block is not None and block.tag != "a" else None
    return None


_REFERENCES = (
    'sup a[href*="#"], a[role="doc-noteref"], a.footnote-ref, a.footnote-reference, a.fn-ref'
)
_BACK_LINKS = (
    '.mw-cite-backlink, a[role="doc-backlink"], a.footnote-backref, a.fn-backref, a.footnote-back,'
    "a.reversefootnote"
)
_BACK_LINK_TEXTS = frozenset(("↩", "↩︎", "↑", "^", "⏎", "↵", "[back]", "back", "return"))
_NOTE_LABEL = re.compile(
    r"[A-Za-z0-9*†‡§]{1,8}|(?:note|nb|n|fn|lower-alpha) ?[0-9a-z]{1,4}", re.IGNORECASE
)
_NOTE_ID = re.compile(
    r"(?:cite_note|fn|footnote|note|endnote|_ftn|_edn|fnote|sdfootnote|ref|bib|cr|r)[\w:.-]*",
    re.IGNORECASE,
)
_NOTE_TAGS = frozenset(("li", "p", "dd", "div", "aside", "td"))
_MAX_REFERENCES = 2_000
_MAX_NOTE_TEXT = 5_000
_MAX_NOTE_ANCESTORS = 4


def normalise_footnotes(root: LexborNode) -> None:
    """Rewrite the footnotes below `root`."""
    references = [link for link in root.css(_REFERENCES)[:_MAX_REFERENCES] if _label_of(link)]
    if not references:
        return
    anchors = {node.id: node for node in reversed(root.css("[id]"))}
    labels: dict[int, str] = {}
    notes: list[LexborNode] = []
    for link in references:
        fragment = unquote((link.attributes.get("href") or "").rpartition("#")[2])[:500]
        note = _note_at(anchors.get(fragment))
        if note is None or note.mem_id == link.mem_id:
            if _NOTE_ID.match(fragment):
                _write_reference(link, f"[{_label_of(link)}]")
            continue
        if note.mem_id not in labels:
            label = _label_of(link)
            is_used = label in labels.values()
            labels[note.mem_id] = f"{label}-{len(labels) + 1}" if is_used else label
            notes.append(note)
        _write_reference(link, f"[^{labels[note.mem_id]}]")
    for note in notes:
        _define_note(note, labels[note.mem_id])


def _label_of(link: LexborNode) -> str:
    text = raw_text(link).strip().strip("[]()").strip()
    return text.replace(" ", "-") if _NOTE_LABEL.fullmatch(text) else ""


def _note_at(anchor: LexborNode | None) -> LexborNode | None:
    current = anchor
    for _ in range(_MAX_NOTE_ANCESTORS):
        if current is None or current.tag == "body":
            return None
        if current.tag in _NOTE_TAGS:
            return current if len(raw_text(current)) <= _MAX_NOTE_TEXT else None
        current = current.parent
    return None


def _write_reference(link: LexborNode, text: str) -> None:
    holder = _raised_around(link)
    _insert_literal(holder, text)
    detach([holder])


def _raised_around(link: LexborNode) -> LexborNode:
    """Return the `sup` that a link fills, or the link."""
    current = link
    for _ in range(2):
        above = current.parent
        if above is None or above.tag not in ("sup", "span"):
            break
        if raw_text(above).strip().strip("[]()") != raw_text(link).strip().strip("[]()"):
            break
        current = above
        if current.tag == "sup":
            return current
    return link


def _insert_literal(before: LexborNode, text: str) -> None:
    span = insert_element_before(before, "span")
    span.attrs["data-literal"] = ""
    span.insert_child(text)


def _define_note(note: LexborNode, label: str) -> None:
    if note.parent is None:
        return
    detach(note.css(_BACK_LINKS))
    detach([link for link in note.css("a") if raw_text(link).strip().lower() in _BACK_LINK_TEXTS])
    for link in note.css('sup a[href*="#"]')[:1] if note.tag != "li" else ():
        # A note that repeats its own number would have it twice.
        if raw_text(link).strip().strip("[]()") == label:
            detach([_raised_around(link)])
    for paragraph in note.css("p"):
        if paragraph.mem_id != note.mem_id:
            paragraph.insert_after(" ")
            unwrap(paragraph)
    if (first := note.first_child) is not None:
        _insert_literal(first, f"[^{label}]:")
        first.insert_before(" ")
    if note.tag == "li":
        above = note.parent
        is_last = all(item.mem_id == note.mem_id or item.tag != "li" for item in above.iter())
        rename_element(note, "div")
        if is_last and above.tag in ("ol", "ul"):
            unwrap(above)


_RAISED = str.maketrans("0123456789+-\u2212=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-\u2212=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_RAISABLE = frozenset(map(chr, _RAISED))
_LOWERABLE = frozenset(map(chr, _LOWERED))
# Ordinals and titles are superscripts without a meaning.
_FOR_LOOKS = frozenset(
    (
        *("st", "nd", "rd", "th", "er", "re", "ère", "e", "ème", "eme", "o", "a", "os", "as"),
        *("®", "™", "©", "*", "†", "‡", "me", "lle", "r", "c"),
    )
)
_TRADE_MARKS = {"TM": "™", "SM": "℠", "(R)": "®"}
_MAX_RAISED_CHARS = 40


def write_superscripts(root: LexborNode) -> None:
    """Replace `sup`, `sub` and `ruby` below `root` by text that keeps their meaning."""
    for ruby in root.css("ruby"):
        detach(ruby.css("rp"))
        for reading in ruby.css("rt"):
            if text := raw_text(reading).strip():
                reading.insert_before(f"({text})")
            detach([reading])
        unwrap(ruby)
    for node in root.css("sup, sub"):
        if node.css_first("a, img, code, span.math") is not None:
            continue
        text = raw_text(node).strip()
        written = _raised(text) if node.tag == "sup" else _lowered(text)
        before = node.prev
        preceding = None
        if before is not None:
            preceding = before.text_content if before.is_text_node else raw_text(before)
        if written is not None and preceding and not preceding[-1].isspace():
            node.insert_before(written)
            detach([node])
        else:
            unwrap(node)


def _raised(text: str) -> str | None:
    if _RAISABLE.issuperset(text):
        return text.translate(_RAISED)
    if text in _TRADE_MARKS:
        return _TRADE_MARKS[text]
    if text.lower() in _FOR_LOOKS or len(text) > _MAX_RAISED_CHARS or not text[0].isalnum():
        return None
    return f"^{text}" if len(text) == 1 else f"^({text})"


def _lowered(text: str) -> str | None:
    if _LOWERABLE.issuperset(text):
        return text.translate(_LOWERED)
    if not text or len(text) > _MAX_RAISED_CHARS or not text[0].isalnum():
        return None
    return f"_{text}" if text.isalnum() else f"_({text})"
