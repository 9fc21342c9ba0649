"""Rewrites code blocks, lists and tables so that markdown can show them.

A cell that spans rows is repeated in each of them, so that every row can be read and cited by
itself. A cell that spans columns is written in the first, and the others are blank.
"""

import re
from dataclasses import dataclass
from html import escape
from itertools import islice

from selectolax.lexbor import LexborNode

from cinder.html.tree import (
    ancestors,
    append_element,
    child_nodes,
    detach,
    insert_element_before,
    move_into,
    previous_element,
    raw_text,
    rename_element,
    unwrap,
)

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
    pre.inner_html = f"<code{attribute}>{escape(text, quote=False)}</code>"
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


_MISPLACED = "ul > ul, ul > ol, ol > ul, ol > ol"
_TERM_BLOCKS = "p, div, ul, ol, dl, table, pre, blockquote, section, h1, h2, h3, h4, h5, h6, figure"


def nest_lists(root: LexborNode) -> None:
    """Move lists that are siblings of an item into it."""
    for inner in root.css(_MISPLACED):
        before = previous_element(inner)
        if before is not None and before.tag == "li":
            move_into(before, [inner])
        else:
            unwrap(inner)


def write_definitions(root: LexborNode) -> None:
    """Turn `dl` into lists with one item a group of terms; descriptions follow their terms."""
    for definitions in reversed(root.css("dl")):
        groups: list[tuple[list[LexborNode], list[LexborNode]]] = []
        for node in definitions.iter():
            for part in node.iter() if node.tag == "div" else (node,):
                if part.tag == "dt" and (not groups or groups[-1][1]):
                    groups.append(([part], []))
                elif part.tag in ("dt", "dd"):
                    groups = groups or [([], [])]
                    groups[-1][part.tag == "dd"].append(part)
        if not groups:
            rename_element(definitions, "div")
            continue
        new = insert_element_before(definitions, "ul")
        for terms, descriptions in groups:
            item = append_element(new, "li")
            _add_terms(item, terms, has_text=bool(descriptions))
            holder = append_element(item, "ul") if len(descriptions) > 1 and terms else item
            for description in descriptions:
                blocks = [node for node in description.iter() if node.is_element_node]
                if len(blocks) == 1 and blocks[0].tag in ("p", "div"):
                    unwrap(blocks[0])
                target = item if holder is item else append_element(holder, "li")
                move_into(target, child_nodes(description))
        detach([definitions])


def _add_terms(item: LexborNode, terms: list[LexborNode], *, has_text: bool) -> None:
    terms = [term for term in terms if raw_text(term).strip() or term.css_first("img")]
    for index, term in enumerate(terms):
        if index:
            item.insert_child(", ")
        # A term's own paragraph would break the line that its description shares.
        for block in term.css(_TERM_BLOCKS):
            unwrap(block)
        strong = append_element(item, "strong")
        move_into(strong, child_nodes(term))
        for bold in strong.css("b, strong"):
            if bold.mem_id != strong.mem_id:
                unwrap(bold)
    if terms and has_text:
        item.insert_child(" " if raw_text(item).rstrip().endswith(":") else ": ")


_SECTIONS = ("thead", "tbody", "tfoot")
_CELLS = ("td", "th")
_LAYOUT_ROLES = ("presentation", "none")
_HEADINGS = "h1, h2, h3, h4, h5, h6"
_CELL_BLOCKS = "p, div, ul, ol, pre, blockquote, section, article, figure"
# Browsers allow 1000 columns and 65534 rows; only a page made to exhaust memory needs that many.
_MAX_COLUMNS = 100
_MAX_FILLED_CELLS = 20_000
_MAX_CELLS = 200_000
_MAX_TABLE_ANCESTORS = 50
_ALL_ROWS = 65_534
# Only a short text is repeated in every row: a name, a year, a group.
_MAX_REPEATED_TEXT = 100
_FEW_ROWS = 2
_ITEM_MARK = "- "


@dataclass(slots=True)
class _CellBudget:
    """How many cells may still be added to this page to fill spans."""

    cells: int = _MAX_FILLED_CELLS


def normalise_tables(root: LexborNode) -> None:
    """Unwrap layout tables, and fill in the spans of data tables."""
    budget = _CellBudget()
    outer: set[int] = set()
    # The innermost come first: the content of a cell decides what its table is.
    for table in reversed(root.css("table")):
        rows = _own_rows(table)
        around = ancestors(table, _MAX_TABLE_ANCESTORS)
        above = next((above for above in around if above.tag == "table"), None)
        if above is not None:
            outer.add(above.mem_id)
        if _is_layout(table, rows, holds_tables=table.mem_id in outer):
            for row in rows:
                for cell in _own_cells(row):
                    rename_element(cell, "div")
                unwrap(row)
            for part in list(table.iter()):
                if part.tag in _SECTIONS:
                    unwrap(part)
                elif part.tag == "caption":
                    rename_element(part, "p")
                elif part.tag == "colgroup":
                    detach([part])
            rename_element(table, "div")
        else:
            _normalise_data(table, rows, budget)


def _own_rows(table: LexborNode) -> list[LexborNode]:
    """Return a table's own rows in visual order: the foot comes last."""
    rows: list[LexborNode] = []
    foot: list[LexborNode] = []
    for part in table.iter():
        if part.tag == "tr":
            rows.append(part)
        elif part.tag in _SECTIONS:
            inside = foot if part.tag == "tfoot" else rows
            inside.extend(row for row in part.iter() if row.tag == "tr")
    return rows + foot


def _own_cells(row: LexborNode) -> list[LexborNode]:
    return [cell for cell in row.iter() if cell.tag in _CELLS]


def _is_layout(table: LexborNode, rows: list[LexborNode], *, holds_tables: bool) -> bool:
    if table.attributes.get("role") in _LAYOUT_ROLES:
        return True
    widest = max((len(_own_cells(row)) for row in rows), default=0)
    # Every row is padded to the widest: a few long ones would make a table of blanks.
    if widest <= 1 or widest * len(rows) > _MAX_CELLS:
        return True
    has_head = any(part.tag in ("caption", "thead") for part in table.iter())
    if has_head or any(cell.tag == "th" for row in rows for cell in _own_cells(row)):
        return False
    if holds_tables:
        return True
    if len(rows) == 1:
        return table.css_first(f"{_CELL_BLOCKS}, {_HEADINGS}") is not None
    return len(rows) <= _FEW_ROWS and table.css_first(f"pre, {_HEADINGS}") is not None


def _normalise_data(table: LexborNode, rows: list[LexborNode], budget: _CellBudget) -> None:
    for caption in [part for part in table.iter() if part.tag == "caption"]:
        move_into(insert_element_before(table, "p"), child_nodes(caption))
        detach([caption])
    # A first row that is one cell over all columns is a caption.
    if len(rows) > _FEW_ROWS and len(_own_cells(rows[1])) > 1:
        cells = _own_cells(rows[0])
        if len(cells) == 1 and _span(cells[0], "colspan") > 1 >= _span(cells[0], "rowspan"):
            move_into(insert_element_before(table, "p"), child_nodes(cells[0]))
            detach([rows[0]])
            rows = rows[1:]
    _make_cells_inline(table)
    if table.css_first("[colspan], [rowspan]") is not None:
        _fill_spans(rows, budget)
    for foot in [part for part in table.iter() if part.tag == "tfoot"]:
        move_into(table, [foot])


def _make_cells_inline(table: LexborNode) -> None:
    """Rewrite lists, code and other tables, which a cell in markdown cannot contain."""
    for item in table.css("li"):
        first = item.first_child
        # An item in a table within this one may have its mark already.
        if first is None or not first.is_text_node or first.text_content != _ITEM_MARK:
            (first.insert_before if first is not None else item.insert_child)(_ITEM_MARK)
    for block in table.css("pre"):
        for line in raw_text(block).split("\n"):
            holder = insert_element_before(block, "div")
            if line.strip():
                append_element(holder, "code").insert_child(line.strip())
        detach([block])
    for inner in reversed(table.css("table")):
        if inner.mem_id != table.mem_id:
            _make_lines(inner)


def _make_lines(table: LexborNode) -> None:
    for row in _own_rows(table):
        for cell in _own_cells(row):
            cell.insert_child(" ")
            unwrap(cell)
        rename_element(row, "div")
    for section in [part for part in table.iter() if part.tag in _SECTIONS]:
        unwrap(section)
    rename_element(table, "div")


# For each column, a cell that spans rows from above, and how many rows it still covers.
_Spanning = dict[int, tuple[LexborNode, int]]


def _fill_spans(rows: list[LexborNode], budget: _CellBudget) -> None:
    """Write the cells that spanning cells cover."""
    widths = [
        sum(_span(cell, "colspan") for cell in cells)
        for cells in map(_own_cells, rows)
        if len(cells) > 1
    ]
    width = min(max(widths, default=1), _MAX_COLUMNS)
    reaching: _Spanning = {}
    for row in rows:
        column = 0
        cells = _own_cells(row)
        for cell in cells:
            column = _fill_from_above(row, cell, column, reaching, budget)
            span = min(_span(cell, "colspan"), max(1, width - column)) if len(cells) > 1 else 1
            depth = _span(cell, "rowspan") - 1
            for name in ("colspan", "rowspan"):
                if name in cell.attributes:
                    del cell.attrs[name]
            if depth > 0 and column < width:
                reaching[column] = (cell, depth)
                reaching.update({column + extra: (cell, -depth) for extra in range(1, span)})
            blanks = min(span - 1, budget.cells)
            budget.cells -= max(blanks, 0)
            following = cell.next
            for _ in range(blanks):
                _insert_cell(row, following)
            column += span
        # The cells that began in this row are before `column`; the others came from above.
        _fill_from_above(row, None, column, reaching, budget)


def _fill_from_above(
    row: LexborNode,
    before: LexborNode | None,
    column: int,
    reaching: _Spanning,
    budget: _CellBudget,
) -> int:
    """Repeat the cells that span from above, from a column on; return the column after them."""
    # A negative number of rows marks a column that a cell only spans across: it stays blank.
    while column in reaching and budget.cells > 0:
        cell, rows = reaching.pop(column)
        blank = _insert_cell(row, before)
        budget.cells -= 1
        if rows > 0 and len(raw_text(cell)) <= _MAX_REPEATED_TEXT:
            for node in child_nodes(cell):
                blank.insert_child(node)
        if left := rows - 1 if rows > 0 else rows + 1:
            reaching[column] = (cell, left)
        column += 1
    return column


def _insert_cell(row: LexborNode, before: LexborNode | None) -> LexborNode:
    return append_element(row, "td") if before is None else insert_element_before(before, "td")


def _span(cell: LexborNode, name: str) -> int:
    value = (cell.attributes.get(name) or "1").strip()
    if not (value.isascii() and value.isdigit()) or len(value) > len(str(_ALL_ROWS)):
        return 1
    # A span of zero rows means all the rest.
    return int(value) or (1 if name == "colspan" else _ALL_ROWS)
