"""Keeps together what belongs together: blocks are scored each for itself, and read as parts."""

from collections.abc import Iterable, Mapping, Sequence

from cinder.extract.main_content.blocks import Block, BlockTree

_CELLS = frozenset(("td", "th"))
_LISTS = frozenset(("ul", "ol", "dl"))
_INSET = _CELLS | {"pre"}
_INSET_LEVELS_UP = 3
_MIN_SHARE = 0.5
# A page or a main element with no more words than this is read whole.
_SMALL_WORDS = 150
_CHROME = frozenset(
    (
        *("<nav>", "<aside>", "<footer>", "<menu>", "<form>", "<select>", "<button>", "<dialog>"),
        *("role=navigation", "role=complementary", "role=contentinfo", "role=banner"),
        *("role=search", "role=menu", "role=dialog", "role=alertdialog", "ad", "ads", "advert"),
        *("advertisement", "breadcrumb", "breadcrumbs", "consent", "cookie", "cookies", "modal"),
        *("newsletter", "pagination", "popup", "promo", "related", "share", "sidebar", "social"),
        *("sponsored", "subscribe"),
    )
)


def is_small(tree: BlockTree) -> bool:
    """Whether a page has too little text to tell its parts apart."""
    return tree.root.words <= _SMALL_WORDS


def level_tables(tree: BlockTree, scores: Sequence[float]) -> list[float]:
    """Give all cells of a table the same score: one that lost some would be misread.

    Only cells that hold text and nothing else count; those of a layout hold elements.
    """
    if not any(tree.elements[block.owner].tag in _CELLS for block in tree.blocks):
        return list(scores)
    tables = _nearest(tree, frozenset(("table",)))
    groups = [
        tables[block.owner] if tree.elements[block.owner].tag in _CELLS else -1
        for block in tree.blocks
    ]
    means = _means(tree.blocks, groups, scores)
    return [means.get(group, score) for group, score in zip(groups, scores, strict=True)]


def lift_insets(tree: BlockTree, scores: Sequence[float]) -> list[float]:
    """Give a table or a listing at least the score of the text around it: it reads unlike prose."""
    if not any(tree.elements[block.owner].tag in _INSET for block in tree.blocks):
        return list(scores)
    nearest = _nearest(tree, frozenset(("table", "pre")))
    insets = [
        nearest[block.owner] if tree.elements[block.owner].tag in _INSET else -1
        for block in tree.blocks
    ]
    around = _means_around(tree, [inset < 0 for inset in insets], scores)
    return [
        max(score, _mean_around(tree, inset, around)) if inset >= 0 else score
        for inset, score in zip(insets, scores, strict=True)
    ]


def complete(tree: BlockTree, chosen: set[int]) -> set[int]:
    """Add what the chosen blocks would be torn from.

    That is the rest of a list or of a small main element of which half was chosen, all but the
    chrome of a small page, and the page's heading where it has one.
    """
    if is_small(tree):
        chosen = chosen | _find_unchromed(tree)
    lists = _nearest(tree, _LISTS)
    chosen = _fill(tree, chosen, [lists[block.owner] for block in tree.blocks])
    if small := frozenset(_small_mains(tree)):
        mains = _nearest(tree, small, by_index=True)
        chosen = _fill(tree, chosen, [mains[block.owner] for block in tree.blocks])
    return chosen | _only_heading(tree)


def _nearest(
    tree: BlockTree, wanted: frozenset[str] | frozenset[int], *, by_index: bool = False
) -> list[int]:
    """Return, for each element, the innermost of the wanted ones around it or it itself, or -1."""
    found: list[int] = []
    for index, element in enumerate(tree.elements):
        is_wanted = (index if by_index else element.tag) in wanted
        above = found[element.parent] if element.parent >= 0 else -1
        found.append(index if is_wanted else above)
    return found


def _means(
    blocks: Sequence[Block], groups: Sequence[int], scores: Sequence[float]
) -> dict[int, float]:
    """Return the mean score of each group, by words; -1 is no group."""
    totals: dict[int, tuple[float, int]] = {}
    for block, group, score in zip(blocks, groups, scores, strict=True):
        if group >= 0:
            total, words = totals.get(group, (0.0, 0))
            totals[group] = total + score * block.words, words + block.words
    return {group: total / words for group, (total, words) in totals.items()}


def _means_around(
    tree: BlockTree, is_text: Sequence[bool], scores: Sequence[float]
) -> dict[int, float]:
    """Return the mean score of the text in each parent and grandparent of its owners."""
    blocks = [block for block, counts in zip(tree.blocks, is_text, strict=True) if counts]
    parents = [tree.elements[block.owner].parent for block in blocks]
    above = [tree.elements[parent].parent if parent >= 0 else -1 for parent in parents]
    counted = [score for score, counts in zip(scores, is_text, strict=True) if counts]
    return _means(blocks * 2, parents + above, counted * 2)


def _mean_around(tree: BlockTree, inset: int, around: Mapping[int, float]) -> float:
    index = tree.elements[inset].parent
    for _ in range(_INSET_LEVELS_UP):
        if index in around:
            return around[index]
        index = tree.elements[index].parent if index >= 0 else -1
    return 0.0


def _fill(tree: BlockTree, chosen: set[int], groups: Sequence[int]) -> set[int]:
    """Add the blocks of every group of which at least half the words are chosen."""
    picked = [float(number in chosen) for number in range(len(groups))]
    shares = _means(tree.blocks, groups, picked)
    whole = {group for group, share in shares.items() if share >= _MIN_SHARE}
    return chosen | {number for number, group in enumerate(groups) if group in whole}


def _small_mains(tree: BlockTree) -> Iterable[int]:
    """Return the main element, or else the only article, if it is small."""
    for tag in ("main", "article"):
        found = [index for index, element in enumerate(tree.elements) if element.tag == tag]
        if found:
            is_only = len(found) == 1
            return found if is_only and tree.elements[found[0]].words <= _SMALL_WORDS else ()
    return ()


def _find_unchromed(tree: BlockTree) -> set[int]:
    """Return the blocks that stand in no part of a page's chrome."""
    is_chrome: list[bool] = []
    for element in tree.elements:
        above = element.parent >= 0 and is_chrome[element.parent]
        is_chrome.append(above or not _CHROME.isdisjoint(element.cues))
    return {number for number, block in enumerate(tree.blocks) if not is_chrome[block.owner]}


def _only_heading(tree: BlockTree) -> set[int]:
    owners = (tree.elements[block.owner].tag for block in tree.blocks)
    found = {number for number, tag in enumerate(owners) if tag == "h1"}
    return found if len(found) == 1 else set()
