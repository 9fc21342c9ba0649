"""Normalises code blocks to `pre > code` with the exact text and the language as a class."""

import re
from itertools import islice

from selectolax.lexbor import LexborNode

from cinder.html.tree import ancestors, detach, escape_text, insert_element_before, raw_text

# Line numbers and copy buttons, by the class names of common highlighters.
_NOT_CODE = (
    ".line-numbers-rows, .linenos, .lineno, .linenodiv, .linenumber, .line-number, .gutter,"
    ".hljs-ln-numbers, .react-syntax-highlighter-line-number, .crayon-nums, .rouge-gutter,"
    ".blob-num, .lnt, .ln, td.line-numbers, button, .copy-button, .copybtn, .code-copy,"
    ".clipboard-copy, zeroclipboard-container, style, script"
)
# Tables that highlighters use for layout, with one line a row or all lines in one cell.
_CODE_CELLS = "code, pre, td.blob-code, td.code, .hljs-ln-code"
_CODE_TABLES = (
    "table.highlighttable, table.rouge-table, table.hljs-ln, table.js-file-line-container,"
    ".syntaxhighlighter table, .highlight table.lntable, figure.highlight > table,"
    "div.highlight > table, table.codehilitetable, table.diff-table"
)
_BUTTONS = "button, [role=button], [class*=copy i], [class*=clipboard i]"
_COPY_WORDS = frozenset(
    ("copy", "copied", "copy code", "copy to clipboard", "copy snippet", "copy copied")
)
_MAX_BUTTONS = 5_000
_MAX_BUTTON_NODES = 12
_LINE_TAGS = frozenset(("div", "p", "li", "tr"))
_NAME = r"([a-zA-Z0-9+#._-]{1,30})(?=$|[\s;{])"
_LANGUAGE_CLASSES = (
    re.compile(rf"(?:^|\s)(?:language|lang|highlight-source|highlight-text)-{_NAME}"),
    re.compile(rf"(?:^|\s)brush:?\s*{_NAME}"),
    re.compile(rf"(?:^|\s)(?:sourceCode|hljs)\s+{_NAME}"),
    re.compile(rf"(?:^|\s)highlight-{_NAME}"),
)
_LANGUAGE_ATTRIBUTES = ("data-lang", "data-language", "data-code-language")
_NO_LANGUAGE = frozenset(
    (
        *("none", "default", "text", "plain", "plaintext", "plain_text", "nohighlight", "auto"),
        *("numbers", "notranslate", "hljs", "copy", "undefined", "source", "output"),
    )
)
_ALIASES = {"source-js": "js", "ipython3": "python", "python3": "python", "pycon3": "pycon"}
# How far above its `pre` a language may be named.
_MAX_ANCESTORS = 3


def normalise_code_blocks(root: LexborNode) -> None:
    """Rewrite every code block below `root` as `pre > code` that contains only text."""
    if root.css_first("pre, code") is not None:
        detach([node for node in root.css(_BUTTONS)[:_MAX_BUTTONS] if _offers_a_copy(node)])
    for table in root.css(_CODE_TABLES):
        detach(table.css(_NOT_CODE))
        if table.parent is None or not table.css_first(_CODE_CELLS):
            continue
        lines = [_exact_text(row).strip("\n") for row in table.css("tr")]
        around = ancestors(table, _MAX_ANCESTORS)
        target = next((above for above in around if above.tag == "pre"), table)
        language = _language_of(table.css_first("pre, code") or table) or _language_of(table)
        _replace(target, "\n".join(lines), language)
    inner: set[int] = set()
    for block in root.css("pre"):
        if block.mem_id in inner:
            continue
        inner.update(node.mem_id for node in block.css("pre"))
        if block.parent is not None:
            language = _language_of(block.css_first("code") or block) or _language_of(block)
            detach(block.css(_NOT_CODE))
            _replace(block, _exact_text(block), language)


def _offers_a_copy(node: LexborNode) -> bool:
    """Whether the only text of a button is that it copies."""
    nodes = islice(node.traverse(include_text=True), _MAX_BUTTON_NODES + 1)
    parts = [part for part in nodes if part.mem_id != node.mem_id]
    if len(parts) >= _MAX_BUTTON_NODES:
        return False
    text = " ".join(part.text_content or "" for part in parts if part.is_text_node)
    return " ".join(text.casefold().split()).rstrip("!") in _COPY_WORDS


def _replace(block: LexborNode, text: str, language: str) -> None:
    text = text.replace("\xa0", " ").strip("\r\n")
    if not text.strip():
        detach([block])
        return
    pre = insert_element_before(block, "pre")
    attribute = f' class="language-{language}"' if language else ""
    pre.inner_html = f"<code{attribute}>{escape_text(text)}</code>"
    detach([block])


def _exact_text(block: LexborNode) -> str:
    """Return the text with line breaks where the page shows them."""
    if not block.css_first("br, div, p, li, tr, [style*=block]"):
        return raw_text(block)
    parts: list[str] = []
    open_lines: set[int] = set()
    for node in block.traverse(include_text=True):
        parent = node.parent
        if node.is_text_node:
            parts.append(node.text_content or "")
        elif node.tag == "br":
            # A line that contains only a break is one line, not two.
            is_alone = node.prev is None and node.next is None
            if not (is_alone and parent is not None and parent.mem_id in open_lines):
                parts.append("\n")
        elif _is_line(node) and node.mem_id != block.mem_id:
            open_lines.add(node.mem_id)
            if parts and not parts[-1].endswith("\n"):
                parts.append("\n")
            if node.prev is not None and _is_line(node.prev) and not raw_text(node.prev).strip():
                parts.append("\n")
    return "".join(parts)


def _is_line(node: LexborNode) -> bool:
    if node.tag in _LINE_TAGS:
        return True
    style = node.attributes.get("style") if node.is_element_node else None
    return style is not None and "block" in style and "inline-block" not in style


def _language_of(node: LexborNode) -> str:
    """Return the language that an element or one close above it declares."""
    current: LexborNode | None = node
    for _ in range(_MAX_ANCESTORS + 1):
        if current is None or current.tag in ("body", "main", "article", "li"):
            break
        attributes = current.attributes
        names = [attributes.get(name) or "" for name in _LANGUAGE_ATTRIBUTES]
        classes = (attributes.get("class") or "")[:500]
        names += [found[1] for pattern in _LANGUAGE_CLASSES for found in pattern.finditer(classes)]
        for name in names:
            language = name.strip().lower()
            if language not in _NO_LANGUAGE and re.fullmatch(r"[a-z0-9+#._-]{1,30}", language):
                return _ALIASES.get(language, language)
        current = current.parent
    return ""
