"""Content that scripts insert: streamed parts, `noscript`, shadow roots, formulas and lazy images.

Each becomes what Pandoc writes: a span of the class `math inline` or `math display`.

React sends a fallback with a marked template first and the real part, hidden, at the end of the
page; a browser shows the part in place of the template. Forum software sends whole threads in
`noscript`, for search engines; on other pages `noscript` only asks the visitor to enable scripts.
"""

import re
import unicodedata

from selectolax.lexbor import LexborNode

from cinder.html.links import resolve_lazy_images, restore_images
from cinder.html.tree import Elements, ancestors, child_nodes, detach, insert_element_before
from cinder.html.visible_text import visible_text

_MAX_DEPTH = 60
_TEMPLATES = {
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
    "\u00d7": "\\times ", "·": "\\cdot ", "⋅": "\\cdot ", "\u2212": "-", "±": "\\pm ",
    "≤": "\\le ", "≥": "\\ge ", "≠": "\\ne ", "≈": "\\approx ", "∞": "\\infty ", "∑": "\\sum ",
    "∏": "\\prod ", "∫": "\\int ", "∂": "\\partial ", "√": "\\surd ", "→": "\\to ", "∈": "\\in ",
    "∀": "\\forall ", "∃": "\\exists ", "…": "\\ldots ", "{": "\\{", "}": "\\}", "%": "\\%",
    "#": "\\#",
    # Function application, and invisible times, separator and plus.
    "\u2061": "", "\u2062": "", "\u2063": "", "\u2064": "",
}  # fmt: skip
_FUNCTIONS = frozenset(("sin", "cos", "tan", "log", "ln", "exp", "lim", "max", "min", "det", "gcd"))


def mathml_to_tex(math: LexborNode) -> str:
    """Return the TeX of a `math` element; its plain text if it is nested too deeply."""
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
    if tag in _TEMPLATES and len(parts) == _TEMPLATES[tag].count("%s"):
        ordered = reversed(parts) if tag == "mroot" else parts
        return _TEMPLATES[tag] % tuple(map(str.strip, ordered))
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
    is_greek = "\u0391" <= character <= "\u03c9" and character.isalpha()
    if character in _SYMBOLS or not is_greek:
        return _SYMBOLS.get(character, character)
    *_, case, _, name = ("", *unicodedata.name(character, "").split())
    letter = name.lower().replace("lamda", "lambda")
    return f"\\{letter.capitalize() if case == 'CAPITAL' else letter} "


_TEX_ANNOTATION = 'annotation[encoding="application/x-tex"], annotation[encoding="TeX"]'
_TEX_SCRIPT = 'script[type^="math/tex"], script[type^="math/latex"]'
# Renderings of a formula around its MathML, from the outside in.
_DRAWN = (
    ".katex-display, .katex, mjx-container, .mwe-math-element, .MathJax_Display,"
    "span.MathJax, .MathJax_SVG, .MathJax_CHTML"
)
# Renderings that MathJax 2 inserts next to the script with the TeX.
_DRAWN_BESIDE = ".MathJax_Preview, .MathJax_Display, .MathJax, .MathJax_SVG, .MathJax_CHTML"
_DISPLAY_STYLE = re.compile(r"\{\\(?:display|text)style\s?(.*)\}", re.DOTALL)
_MATH_IMAGES = "img.mwe-math-fallback-image-inline, img.mwe-math-fallback-image-display, img.tex"
# Finds whatever one of the selectors above finds, in one query.
_ANY = 'math, mjx-container, script[type^="math/"], [class*=math i], [class*=katex i], img.tex'
_MAX_TEX = 10_000
_CONTAINERS = ("p", "body", "div", "li", "td", "main", "section", "article", "html")


def normalise_formulas(root: LexborNode) -> bool:
    """Replace formulas below `root` by spans with their TeX; return whether there may be any."""
    if root.css_first(_ANY) is None:
        return False
    for script in root.css(_TEX_SCRIPT):
        kind = (script.attributes.get("type") or "").replace(" ", "")
        _replace(script, script.text(deep=True), display="mode=display" in kind)
    if root.css_first(_DRAWN_BESIDE) is not None and root.css_first("span.math") is not None:
        detach([node for node in root.css(_DRAWN_BESIDE) if node.css_first("math") is None])
    for drawn in filter(_is_attached, root.css(_DRAWN)):
        names = (drawn.attributes.get("class") or "").lower()
        is_display = "display" in names or drawn.attributes.get("display") == "true"
        element = drawn.css_first("math")
        if element is not None:
            tex = _tex_of(element)
            if element.attributes.get("display") == "block" and not is_display:
                # Wikipedia marks inline formulas as blocks too; only its images differ.
                is_display = drawn.css_first("img.mwe-math-fallback-image-inline") is None
        else:
            image = drawn.css_first("img[alt]")
            tex = (image.attributes.get("alt") or "") if image is not None else ""
        if tex:
            _replace(drawn, tex, display=is_display)
    for element in filter(_is_attached, root.css("math")):
        is_block = element.attributes.get("display") == "block"
        _replace(element, _tex_of(element), display=is_block)
    for image in filter(_is_attached, root.css(_MATH_IMAGES)):
        display = "display" in (image.attributes.get("class") or "")
        _replace(image, image.attributes.get("alt") or "", display=display)
    return True


def may_hold_formulas(elements: Elements) -> bool:
    """Whether anything on a page looks like a formula; cheaper than a search for one."""
    if elements.have_tag("math", "mjx-container"):
        return True
    names = elements.lower_classes
    if "math" in names or "katex" in names:
        return True
    scripts, images = elements.tagged("script"), elements.tagged("img") if "tex" in names else []
    return any(
        "math/" in (elements.attributes(place).get("type") or "").lower() for place in scripts
    ) or any("tex" in (elements.attributes(place).get("class") or "") for place in images)


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
    # The outer part of a rendering is replaced first, together with the inner ones.
    around = list(ancestors(node, 12))
    return len(around) == 12 or any(one.tag in _CONTAINERS for one in (node, *around))


_MIN_NOSCRIPT_CHARS = 400
# How many times as much text as the rest of the page a `noscript` must have to be the content.
_MIN_NOSCRIPT_RATIO = 1.5


def unwrap_noscript(root: LexborNode) -> bool:
    """Unwrap the largest `noscript` below `root` if it has the content; return whether it has."""
    parts = [part for part in root.css("noscript") if len(part.text()) >= _MIN_NOSCRIPT_CHARS]
    sizes = [len(visible_text(part)) for part in parts]
    if max(sizes, default=0) < _MIN_NOSCRIPT_CHARS:
        return False
    size, largest = max(zip(sizes, parts, strict=True), key=lambda pair: pair[0])
    if size < (len(visible_text(root)) - sum(sizes)) * _MIN_NOSCRIPT_RATIO:
        return False
    largest.unwrap()
    return True


_TEMPLATE_TAG = re.compile(r"<(/?)template\b([^<>]*)>", re.IGNORECASE)
_OPEN_ROOT = re.compile(r"\sshadowrootmode\s*=\s*[\"']?open\b", re.IGNORECASE)


def open_shadow_roots(html: str) -> str:
    """Return a page with the declared open shadow roots as ordinary elements of their hosts.

    A parser that runs no scripts keeps them as templates, which do not show.
    """
    if "shadowroot" not in html:
        return html
    is_root: list[bool] = []

    def rename(tag: re.Match[str]) -> str:
        if tag[1]:
            return "</div>" if is_root and is_root.pop() else tag[0]
        # A template within another one is not shown with it.
        is_within = bool(is_root) and not is_root[-1]
        is_root.append(not is_within and _OPEN_ROOT.search(tag[2]) is not None)
        # With the mark: content of the host that it has no slot for is hidden.
        return "<div shadowrootmode=open>" if is_root[-1] else tag[0]

    return _TEMPLATE_TAG.sub(rename, html)


_STREAMED_PARTS = 'div[hidden][id^="S:"]'
_PLACEHOLDERS = 'template[id^="B:"], template[id^="P:"]'
_MAX_STREAMED_PARTS = 1_000
_MAX_FALLBACK_NODES = 1_000


def place_streamed_parts(root: LexborNode) -> bool:
    """Move every streamed part below `root` to its place, or show it where it is.

    Returns whether there are any.
    """
    parts = root.css(_STREAMED_PARTS)[:_MAX_STREAMED_PARTS]
    if not parts:
        return False
    places = {place.id: place for place in root.css(_PLACEHOLDERS)}
    for part in parts:
        number = (part.id or "").partition(":")[2]
        place = places.get(f"B:{number}") or places.get(f"P:{number}")
        inside = {inner.mem_id for inner in part.css(_PLACEHOLDERS)}
        if place is None or place.mem_id in inside:
            del part.attrs["hidden"]
            continue
        if (place.id or "").startswith("B:"):
            detach(_fallback_after(place))
        for node in child_nodes(part):
            place.insert_before(node, move=True)
        detach([place, part])
    return True


def _fallback_after(place: LexborNode) -> list[LexborNode]:
    """Return the nodes between a template and the comment that ends its boundary."""
    found: list[LexborNode] = []
    depth = 0
    node = place.next
    while node is not None and len(found) < _MAX_FALLBACK_NODES:
        mark = (node.comment_content or "").strip() if node.is_comment_node else ""
        if mark == "/$":
            if depth == 0:
                return found
            depth -= 1
        elif mark.startswith("$"):
            depth += 1
        found.append(node)
        node = node.next
    # Without an end, any of it may be content.
    return []


def place_deferred_content(elements: Elements) -> bool:
    """Put streamed parts, formulas and images in place; return whether that changed anything."""
    # Each step searches the whole tree, and most pages need few of them.
    steps = (
        (elements.have_attribute("hidden"), place_streamed_parts),
        (elements.have_tag("noscript"), unwrap_noscript),
        (may_hold_formulas(elements), normalise_formulas),
        (elements.have_tag("picture", "noscript"), restore_images),
        (elements.have_tag("img"), resolve_lazy_images),
    )
    changes = [step(elements.root) for is_needed, step in steps if is_needed]
    return any(changes)
