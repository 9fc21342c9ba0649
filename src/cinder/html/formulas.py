"""Finds formulas in a page and writes each as TeX, converting MathML where needed.

The form is that of Pandoc: a span of the class `math inline` or `math display`.
"""

import re
import unicodedata

from selectolax.lexbor import LexborNode

from cinder.html.tree import Elements, detach, insert_element_before

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


_TEX_ANNOTATION = 'annotation[encoding="application/x-tex"], annotation[encoding="TeX"]'
_TEX_SCRIPT = 'script[type^="math/tex"], script[type^="math/latex"]'
# What draws a formula around its MathML, from the outside in.
_DRAWN = (
    ".katex-display, .katex, mjx-container, .mwe-math-element, .MathJax_Display,"
    "span.MathJax, .MathJax_SVG, .MathJax_CHTML"
)
# What MathJax 2 puts beside the script that holds the TeX.
_DRAWN_BESIDE = ".MathJax_Preview, .MathJax_Display, .MathJax, .MathJax_SVG, .MathJax_CHTML"
_DISPLAY_STYLE = re.compile(r"\{\\(?:display|text)style\s?(.*)\}", re.DOTALL)
_MATH_IMAGES = "img.mwe-math-fallback-image-inline, img.mwe-math-fallback-image-display, img.tex"
# What one of all these selectors finds, this one finds too, in one look.
_ANY = 'math, mjx-container, script[type^="math/"], [class*=math i], [class*=katex i], img.tex'
_MAX_TEX = 10_000


def normalise_formulas(root: LexborNode) -> bool:
    """Replace every formula below `root` by a span with its TeX, if there are any."""
    if root.css_first(_ANY) is None:
        return False
    for script in root.css(_TEX_SCRIPT):
        _replace(script, script.text(deep=True), display="mode=display" in _type_of(script))
    if root.css_first(_DRAWN_BESIDE) is not None and root.css_first("span.math") is not None:
        detach([node for node in root.css(_DRAWN_BESIDE) if node.css_first("math") is None])
    for drawn in root.css(_DRAWN):
        _replace_drawn(drawn)
    for element in root.css("math"):
        if _is_attached(element):
            _replace(
                element, _tex_of(element), display=element.attributes.get("display") == "block"
            )
    for image in root.css(_MATH_IMAGES):
        if _is_attached(image):
            display = "display" in (image.attributes.get("class") or "")
            _replace(image, image.attributes.get("alt") or "", display=display)
    return True


def may_hold_formulas(elements: Elements) -> bool:
    """Whether anything on a page looks like a formula, which is sooner told than found."""
    if elements.have_tag("math", "mjx-container"):
        return True
    names = " ".join(elements.classes).lower()
    if "math" in names or "katex" in names:
        return True
    scripts, images = elements.tagged("script"), elements.tagged("img") if "tex" in names else []
    return any(
        "math/" in (elements.attributes(place).get("type") or "").lower() for place in scripts
    ) or any("tex" in (elements.attributes(place).get("class") or "") for place in images)


def _type_of(script: LexborNode) -> str:
    return (script.attributes.get("type") or "").replace(" ", "")


def _replace_drawn(drawn: LexborNode) -> None:
    element = drawn.css_first("math")
    if not _is_attached(drawn):
        return
    if element is not None:
        tex = _tex_of(element)
    else:
        image = drawn.css_first("img[alt]")
        tex = (image.attributes.get("alt") or "") if image is not None else ""
    if tex:
        _replace(drawn, tex, display=_is_display(drawn, element))


def _is_display(drawn: LexborNode, element: LexborNode | None) -> bool:
    names = (drawn.attributes.get("class") or "").lower()
    if "display" in names or drawn.attributes.get("display") == "true":
        return True
    if element is not None and element.attributes.get("display") == "block":
        # Wikipedia marks inline formulas as blocks too; its image tells them apart.
        return drawn.css_first("img.mwe-math-fallback-image-inline") is None
    return False


def _tex_of(element: LexborNode) -> str:
    annotation = element.css_first(_TEX_ANNOTATION)
    if annotation is not None:
        return annotation.text(deep=True)
    return element.attributes.get("alttext") or mathml_to_tex(element)


def _replace(node: LexborNode, tex: str, *, display: bool) -> None:
    tex = " ".join(tex[:_MAX_TEX].split())
    if found := _DISPLAY_STYLE.fullmatch(tex):
        tex = found[1].strip()
    if tex:
        span = insert_element_before(node, "span")
        span.attrs["class"] = "math display" if display else "math inline"
        span.insert_child(tex)
    detach([node])


def _is_attached(node: LexborNode) -> bool:
    # The outer part of a drawn formula goes first, and takes the inner ones with it.
    current: LexborNode | None = node
    for _ in range(12):
        if current is None:
            return False
        if current.tag in ("p", "body", "div", "li", "td", "main", "section", "article", "html"):
            return True
        current = current.parent
    return current is not None
