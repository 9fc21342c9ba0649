"""Footnotes: the links to a note become `[^1]`, the note itself becomes `[^1]: …`.

A note that is not part of the content leaves its number, `[1]`, without a link.
"""

import re
from urllib.parse import unquote

from selectolax.lexbor import LexborNode

from cinder.extract.html_tree import detach
from cinder.extract.tree_edits import insert_element_before, rename, text_of, unwrap

_REFERENCES = (
    'sup a[href*="#"], a[role="doc-noteref"], a.footnote-ref, a.footnote-reference, a.fn-ref'
)
_BACK_LINKS = (
    '.mw-cite-backlink, a[role="doc-backlink"], a.footnote-backref, a.fn-backref, a.footnote-back,'
    "a.reversefootnote"
)
_BACK_LINK_TEXTS = frozenset(("↩", "↩︎", "↑", "^", "⏎", "↵", "[back]", "back", "return"))
_LABEL = re.compile(
    r"[A-Za-z0-9*†‡§]{1,8}|(?:note|nb|n|fn|lower-alpha) ?[0-9a-z]{1,4}", re.IGNORECASE
)
_NOTE_ID = re.compile(
    r"(?:cite_note|fn|footnote|note|endnote|_ftn|_edn|fnote|sdfootnote|ref|bib|cr|r)[\w:.-]*",
    re.IGNORECASE,
)
_NOTE_TAGS = frozenset(("li", "p", "dd", "div", "aside", "td"))
_MAX_REFERENCES = 2_000
_MAX_NOTE_TEXT = 5_000
_MAX_ANCESTORS = 4


def normalise_footnotes(root: LexborNode) -> None:
    """Rewrite the footnotes below `root`."""
    references = [link for link in root.css(_REFERENCES)[:_MAX_REFERENCES] if _label_of(link)]
    if not references:
        return
    anchors = {node.id: node for node in reversed(root.css("[id]"))}
    labels: dict[int, str] = {}
    notes: list[LexborNode] = []
    for link in references:
        fragment = _fragment(link)
        note = _note_at(anchors.get(fragment))
        if note is None or note.mem_id == link.mem_id:
            if _NOTE_ID.match(fragment):
                _write(link, f"[{_label_of(link)}]")
            continue
        if note.mem_id not in labels:
            labels[note.mem_id] = _unused_label(_label_of(link), labels)
            notes.append(note)
        _write(link, f"[^{labels[note.mem_id]}]")
    for note in notes:
        _define(note, labels[note.mem_id])


def _label_of(link: LexborNode) -> str:
    text = text_of(link).strip().strip("[]()").strip()
    return text.replace(" ", "-") if _LABEL.fullmatch(text) else ""


def _fragment(link: LexborNode) -> str:
    return unquote((link.attributes.get("href") or "").rpartition("#")[2])[:500]


def _unused_label(label: str, labels: dict[int, str]) -> str:
    used = set(labels.values())
    if label not in used:
        return label
    return f"{label}-{len(labels) + 1}"


def _note_at(anchor: LexborNode | None) -> LexborNode | None:
    current = anchor
    for _ in range(_MAX_ANCESTORS):
        if current is None or current.tag == "body":
            return None
        if current.tag in _NOTE_TAGS:
            return current if len(text_of(current)) <= _MAX_NOTE_TEXT else None
        current = current.parent
    return None


def _write(link: LexborNode, text: str) -> None:
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
        if text_of(above).strip().strip("[]()") != text_of(link).strip().strip("[]()"):
            break
        current = above
        if current.tag == "sup":
            return current
    return link


def _insert_literal(before: LexborNode, text: str) -> None:
    span = insert_element_before(before, "span")
    span.attrs["data-literal"] = ""
    span.insert_child(text)


def _define(note: LexborNode, label: str) -> None:
    if note.parent is None:
        return
    detach(note.css(_BACK_LINKS))
    detach([link for link in note.css("a") if text_of(link).strip().lower() in _BACK_LINK_TEXTS])
    for link in note.css('sup a[href*="#"]')[:1] if note.tag != "li" else ():
        # A note that repeats its own number would carry it twice.
        if text_of(link).strip().strip("[]()") == label:
            detach([_raised_around(link)])
    for paragraph in note.css("p"):
        if paragraph.mem_id != note.mem_id:
            paragraph.insert_after(" ")
            unwrap(paragraph)
    if (first := note.first_child) is not None:
        _insert_literal(first, f"[^{label}]:")
        first.insert_before(" ")
    if note.tag == "li":
        _unwrap_list(note)


def _unwrap_list(note: LexborNode) -> None:
    above = note.parent
    is_last = above is not None and all(
        item.mem_id == note.mem_id or item.tag != "li" for item in above.iter()
    )
    rename(note, "div")
    if above is not None and is_last and above.tag in ("ol", "ul"):
        unwrap(above)
