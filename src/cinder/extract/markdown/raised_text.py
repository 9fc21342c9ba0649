"""Raised and lowered text as plain text can say it: x², H₂O, x_max, e^(ix), 漢(kan)."""

from selectolax.lexbor import LexborNode

from cinder.extract.html_tree import detach
from cinder.extract.tree_edits import text_of, unwrap

_RAISED = str.maketrans("0123456789+-\u2212=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-\u2212=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_RAISABLE = frozenset(map(chr, _RAISED))
_LOWERABLE = frozenset(map(chr, _LOWERED))
# Ordinals and titles are raised for looks only.
_FOR_LOOKS = frozenset(
    (
        *("st", "nd", "rd", "th", "er", "re", "ère", "e", "ème", "eme", "o", "a", "os", "as"),
        *("®", "™", "©", "*", "†", "‡", "me", "lle", "r", "c"),
    )
)
_TRADE_MARKS = {"TM": "™", "SM": "℠", "(R)": "®"}
_MAX_LENGTH = 40


def write_raised_text(root: LexborNode) -> None:
    """Replace `sup`, `sub` and `ruby` below `root` by text that keeps their meaning."""
    for ruby in root.css("ruby"):
        _write_readings(ruby)
    for node in root.css("sup, sub"):
        if node.css_first("a, img, code, span.math") is None:
            _write(node)


def _write_readings(ruby: LexborNode) -> None:
    detach(ruby.css("rp"))
    for reading in ruby.css("rt"):
        if text := text_of(reading).strip():
            reading.insert_before(f"({text})")
        detach([reading])
    unwrap(ruby)


def _write(node: LexborNode) -> None:
    text = text_of(node).strip()
    written = _raised(text) if node.tag == "sup" else _lowered(text)
    if written is None or not _follows_text(node):
        unwrap(node)
        return
    node.insert_before(written)
    detach([node])


def _raised(text: str) -> str | None:
    if _RAISABLE.issuperset(text):
        return text.translate(_RAISED)
    if text in _TRADE_MARKS:
        return _TRADE_MARKS[text]
    if text.lower() in _FOR_LOOKS or len(text) > _MAX_LENGTH or not text[0].isalnum():
        return None
    return f"^{text}" if len(text) == 1 else f"^({text})"


def _lowered(text: str) -> str | None:
    if _LOWERABLE.issuperset(text):
        return text.translate(_LOWERED)
    if not text or len(text) > _MAX_LENGTH or not text[0].isalnum():
        return None
    return f"_{text}" if text.isalnum() else f"_({text})"


def _follows_text(node: LexborNode) -> bool:
    before = node.prev
    if before is None:
        return False
    text = before.text_content if before.is_text_node else text_of(before)
    return bool(text and not text[-1].isspace())
