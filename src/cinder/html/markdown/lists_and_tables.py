"""Normalises lists and tables for markdown: items nested, spans filled, layout tables unwrapped.

A cell that spans rows is repeated in each of them, so that every row can be read and cited by
itself; a cell that spans columns stands in the first, and the others stay blank.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from cinder.html.tree import (
    append_element,
    child_nodes,
    detach,
    insert_element_before,
    move_into,
    raw_text,
    rename_element,
    unwrap,
)

_MISPLACED = "ul > ul, ul > ol, ol > ul, ol > ol"
_TERM_BLOCKS = "p, div, ul, ol, dl, table, pre, blockquote, section, h1, h2, h3, h4, h5, h6, figure"


def nest_lists(root: LexborNode) -> None:
    """Move lists that stand beside an item into it."""
    for inner in root.css(_MISPLACED):
        _move_into_item(inner)


def write_definitions(root: LexborNode) -> None:
    """Make definition lists plain ones."""
    for definitions in reversed(root.css("dl")):
        _make_items(definitions)


def _move_into_item(inner: LexborNode) -> None:
    before = inner.prev
    while before is not None and not before.is_element_node:
        before = before.prev
    if before is not None and before.tag == "li":
        move_into(before, [inner])
    else:
        unwrap(inner)


def _make_items(definitions: LexborNode) -> None:
    """Turn `dl` into a list with one item a group of terms; descriptions follow their terms."""
    groups = list(_groups(definitions))
    if not groups:
        rename_element(definitions, "div")
        return
    new = insert_element_before(definitions, "ul")
    for terms, descriptions in groups:
        item = append_element(new, "li")
        _add_terms(item, terms, has_text=bool(descriptions))
        _add_descriptions(item, descriptions, has_terms=bool(terms))
    detach([definitions])


def _groups(definitions: LexborNode) -> Iterator[tuple[list[LexborNode], list[LexborNode]]]:
    terms: list[LexborNode] = []
    descriptions: list[LexborNode] = []
    for node in _parts(definitions):
        if node.tag == "dt" and descriptions:
            yield terms, descriptions
            terms, descriptions = [], []
        (terms if node.tag == "dt" else descriptions).append(node)
    if terms or descriptions:
        yield terms, descriptions


def _parts(definitions: LexborNode) -> Iterator[LexborNode]:
    for node in definitions.iter():
        if node.tag in ("dt", "dd"):
            yield node
        elif node.tag == "div":
            yield from (part for part in node.iter() if part.tag in ("dt", "dd"))


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


def _add_descriptions(item: LexborNode, descriptions: list[LexborNode], *, has_terms: bool) -> None:
    if len(descriptions) == 1 or not has_terms:
        for description in descriptions:
            _unwrap_only_block(description)
            move_into(item, child_nodes(description))
        return
    inner = append_element(item, "ul")
    for description in descriptions:
        _unwrap_only_block(description)
        move_into(append_element(inner, "li"), child_nodes(description))


def _unwrap_only_block(description: LexborNode) -> None:
    blocks = [node for node in description.iter() if node.is_element_node]
    if len(blocks) == 1 and blocks[0].tag in ("p", "div"):
        unwrap(blocks[0])


_SECTIONS = ("thead", "tbody", "tfoot")
_CELLS = ("td", "th")
_LAYOUT_ROLES = ("presentation", "none")
_HEADINGS = "h1, h2, h3, h4, h5, h6"
_CELL_BLOCKS = "p, div, ul, ol, pre, blockquote, section, article, figure"
# Browsers allow 1000 columns and 65534 rows; a page has no use for that many, a bomb has.
_MAX_COLUMNS = 100
_MAX_FILLED_CELLS = 20_000
_MAX_CELLS = 200_000
_MAX_TABLE_ANCESTORS = 50
_ALL_ROWS = 65_534
# What is repeated in every row must be short: a name, a year, a group.
_MAX_REPEATED_TEXT = 100
_FEW_ROWS = 2
_ITEM_MARK = "- "


@dataclass(slots=True)
class _CellBudget:
    """How many cells may still be made on this page to fill spans in."""

    cells: int = _MAX_FILLED_CELLS


def normalise_tables(root: LexborNode) -> None:
    """Unwrap tables that only lay out, and fill in the spans of those that hold data."""
    budget = _CellBudget()
    outer: set[int] = set()
    # The innermost first: what a cell holds decides what its table is.
    for table in reversed(root.css("table")):
        rows = _own_rows(table)
        if (enclosing := _enclosing_table(table)) is not None:
            outer.add(enclosing.mem_id)
        if _is_layout(table, rows, holds_tables=table.mem_id in outer):
            _unwrap_layout(table, rows)
        else:
            _normalise_data(table, rows, budget)


def _enclosing_table(table: LexborNode) -> LexborNode | None:
    above = table.parent
    for _ in range(_MAX_TABLE_ANCESTORS):
        if above is None or above.tag == "table":
            return above
        above = above.parent
    return None


def _own_rows(table: LexborNode) -> list[LexborNode]:
    """Return a table's own rows in the order they are shown: the foot comes last."""
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
    # Every row is as wide as the widest: a few long ones would make a table of blanks.
    if widest <= 1 or widest * len(rows) > _MAX_CELLS:
        return True
    if _names_its_cells(table, rows):
        return False
    if holds_tables:
        return True
    if len(rows) == 1:
        return table.css_first(f"{_CELL_BLOCKS}, {_HEADINGS}") is not None
    return len(rows) <= _FEW_ROWS and table.css_first(f"pre, {_HEADINGS}") is not None


def _names_its_cells(table: LexborNode, rows: list[LexborNode]) -> bool:
    if any(part.tag in ("caption", "thead") for part in table.iter()):
        return True
    return any(cell.tag == "th" for row in rows for cell in _own_cells(row))


def _unwrap_layout(table: LexborNode, rows: list[LexborNode]) -> None:
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


def _normalise_data(table: LexborNode, rows: list[LexborNode], budget: _CellBudget) -> None:
    _move_caption_out(table)
    rows = _move_title_row_out(table, rows)
    _make_cells_inline(table)
    if table.css_first("[colspan], [rowspan]") is not None:
        _fill_spans(rows, budget)
    for foot in [part for part in table.iter() if part.tag == "tfoot"]:
        move_into(table, [foot])


def _move_caption_out(table: LexborNode) -> None:
    for caption in [part for part in table.iter() if part.tag == "caption"]:
        move_into(insert_element_before(table, "p"), child_nodes(caption))
        detach([caption])


def _move_title_row_out(table: LexborNode, rows: list[LexborNode]) -> list[LexborNode]:
    """Put a first row that is one cell over all columns before the table, as its caption."""
    if len(rows) <= _FEW_ROWS or len(_own_cells(rows[1])) <= 1:
        return rows
    cells = _own_cells(rows[0])
    if len(cells) != 1 or _span(cells[0], "colspan") <= 1 or _span(cells[0], "rowspan") > 1:
        return rows
    move_into(insert_element_before(table, "p"), child_nodes(cells[0]))
    detach([rows[0]])
    return rows[1:]


def _make_cells_inline(table: LexborNode) -> None:
    """Write what a cell of markdown cannot hold in a way it can: lists, code, other tables."""
    for item in table.css("li"):
        first = item.first_child
        # In a table within this one it may have got its mark already.
        if first is None or not first.is_text_node or first.text_content != _ITEM_MARK:
            (first.insert_before if first is not None else item.insert_child)(_ITEM_MARK)
    for block in table.css("pre"):
        _make_code_inline(block)
    for inner in reversed(table.css("table")):
        if inner.mem_id != table.mem_id:
            _make_lines(inner)


def _make_code_inline(block: LexborNode) -> None:
    for line in raw_text(block).split("\n"):
        holder = insert_element_before(block, "div")
        if line.strip():
            append_element(holder, "code").insert_child(line.strip())
    detach([block])


def _make_lines(inner: LexborNode) -> None:
    for row in _own_rows(inner):
        for cell in _own_cells(row):
            cell.insert_child(" ")
            unwrap(cell)
        rename_element(row, "div")
    for section in [part for part in inner.iter() if part.tag in _SECTIONS]:
        unwrap(section)
    rename_element(inner, "div")


def _fill_spans(rows: list[LexborNode], budget: _CellBudget) -> None:
    width = _width(rows)
    # For each column: the cell that reaches down from above, and how many rows it still covers.
    reaching: dict[int, tuple[LexborNode, int]] = {}
    for row in rows:
        column = 0
        cells = _own_cells(row)
        for cell in cells:
            column = _fill_from_above(cell, column, reaching, budget)
            span = min(_span(cell, "colspan"), max(1, width - column)) if len(cells) > 1 else 1
            depth = _span(cell, "rowspan") - 1
            _forget_spans(cell)
            if depth > 0 and column < width:
                reaching[column] = (cell, depth)
                reaching.update({column + extra: (cell, -depth) for extra in range(1, span)})
            _add_blanks_after(cell, span - 1, budget)
            column += span
        if reaching:
            _fill_rest_of_row(row, column, reaching, budget)


def _width(rows: list[LexborNode]) -> int:
    """Return the number of columns that rows of more than one cell have."""
    widths = [
        sum(_span(cell, "colspan") for cell in cells)
        for cells in map(_own_cells, rows)
        if len(cells) > 1
    ]
    return min(max(widths, default=1), _MAX_COLUMNS)


def _fill_from_above(
    cell: LexborNode, column: int, reaching: dict[int, tuple[LexborNode, int]], budget: _CellBudget
) -> int:
    while column in reaching and budget.cells > 0:
        _copy_into(insert_element_before(cell, "td"), *reaching[column], budget)
        _step_down(reaching, column)
        column += 1
    return column


def _fill_rest_of_row(
    row: LexborNode, column: int, reaching: dict[int, tuple[LexborNode, int]], budget: _CellBudget
) -> None:
    # Those that began in this row stand before `column`; the ones behind it came from above.
    while column in reaching and budget.cells > 0:
        _copy_into(append_element(row, "td"), *reaching[column], budget)
        _step_down(reaching, column)
        column += 1


def _step_down(reaching: dict[int, tuple[LexborNode, int]], column: int) -> None:
    cell, rows = reaching[column]
    left = rows - 1 if rows > 0 else rows + 1
    if left:
        reaching[column] = (cell, left)
    else:
        del reaching[column]


def _copy_into(blank: LexborNode, cell: LexborNode, rows: int, budget: _CellBudget) -> None:
    """Repeat a cell; a negative number of rows marks a column the cell only reaches across."""
    budget.cells -= 1
    if rows < 0 or budget.cells < 0 or len(raw_text(cell)) > _MAX_REPEATED_TEXT:
        return
    for node in child_nodes(cell):
        blank.insert_child(node)


def _add_blanks_after(cell: LexborNode, count: int, budget: _CellBudget) -> None:
    count = min(count, budget.cells)
    budget.cells -= max(count, 0)
    following = cell.next
    for _ in range(count):
        if following is None:
            append_element(cell.parent or cell, "td")
        else:
            insert_element_before(following, "td")


def _forget_spans(cell: LexborNode) -> None:
    for name in ("colspan", "rowspan"):
        if name in cell.attributes:
            del cell.attrs[name]


def _span(cell: LexborNode, name: str) -> int:
    value = (cell.attributes.get(name) or "1").strip()
    if not (value.isascii() and value.isdigit()) or len(value) > len(str(_ALL_ROWS)):
        return 1
    # A span of nought rows means all the rest.
    return int(value) or (1 if name == "colspan" else _ALL_ROWS)
