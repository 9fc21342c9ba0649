"""MathML to TeX, for the formulas of pages that do not carry their TeX."""

import unicodedata

from selectolax.lexbor import LexborNode

_MAX_DEPTH = 60
_WORDS = {
    "mfrac": "\\frac{%s}{%s}",
    "msup": "%s^{%s}",
    "msub": "%s_{%s}",
    "msubsup": "%s_{%s}^{%s}",
    "munder": "%s_{%s}",
    "mover": "%s^{%s}",
    "munderover": "%s_{%s}^{%s}",
    "mroot": "\\sqrt[%s]{%s}",
}
_SYMBOLS = {
    "\u00d7": "\\times ",
    "·": "\\cdot ",
    "⋅": "\\cdot ",
    "\u2212": "-",
    "±": "\\pm ",
    "≤": "\\le ",
    "≥": "\\ge ",
    "≠": "\\ne ",
    "≈": "\\approx ",
    "∞": "\\infty ",
    "∑": "\\sum ",
    "∏": "\\prod ",
    "∫": "\\int ",
    "∂": "\\partial ",
    "√": "\\surd ",
    "→": "\\to ",
    "∈": "\\in ",
    "∀": "\\forall ",
    "∃": "\\exists ",
    "…": "\\ldots ",
    "{": "\\{",
    "}": "\\}",
    "%": "\\%",
    "#": "\\#",
    # Function application, and invisible times, separator and plus.
    "\u2061": "",
    "\u2062": "",
    "\u2063": "",
    "\u2064": "",
}
_FUNCTIONS = frozenset(("sin", "cos", "tan", "log", "ln", "exp", "lim", "max", "min", "det", "gcd"))


def mathml_to_tex(math: LexborNode) -> str:
    """Return the TeX of a `math` element; its plain text where it is nested too deeply."""
    return " ".join(_tex(math, 0).split())


def _tex(node: LexborNode, depth: int) -> str:
    if depth > _MAX_DEPTH:
        return node.text(deep=True)
    tag = node.tag or ""
    if tag in ("annotation", "annotation-xml"):
        return ""
    if tag in ("mi", "mn", "mo", "mtext", "ms"):
        return _token(tag, node.text(deep=True).strip())
    parts = [_tex(child, depth + 1) for child in node.iter()]
    return _arranged(tag, parts)


def _arranged(tag: str, parts: list[str]) -> str:
    if tag in _WORDS and len(parts) == _WORDS[tag].count("%s"):
        ordered = list(reversed(parts)) if tag == "mroot" else parts
        return _WORDS[tag] % tuple(map(str.strip, ordered))
    if tag == "msqrt":
        return f"\\sqrt{{{''.join(parts).strip()}}}"
    if tag == "mtable":
        return "\\begin{matrix}" + " \\\\ ".join(parts) + "\\end{matrix}"
    if tag in ("mtr", "mlabeledtr"):
        return " & ".join(map(str.strip, parts))
    return "".join(parts)


def _token(tag: str, text: str) -> str:
    if tag == "mtext":
        return f"\\text{{{text}}}" if text else ""
    if text in _FUNCTIONS:
        return f"\\{text} "
    if tag == "mi" and len(text) > 1 and text.isalpha():
        return f"\\mathrm{{{text}}}"
    return "".join(map(_symbol, text))


def _symbol(character: str) -> str:
    if character in _SYMBOLS or not _is_greek(character):
        return _SYMBOLS.get(character, character)
    *_, case, _, name = ("", *unicodedata.name(character, "").split())
    letter = name.lower().replace("lamda", "lambda")
    return f"\\{letter.capitalize() if case == 'CAPITAL' else letter} "


def _is_greek(character: str) -> bool:
    return "\u0391" <= character <= "\u03c9" and character.isalpha()
