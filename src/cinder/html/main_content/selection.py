"""Selection of the main content: chooses blocks by score and prunes the rest from the tree."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from selectolax.lexbor import LexborNode

from cinder.html.main_content.blocks import BlockTree, ContentBlock
from cinder.html.tree import detach

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


def complete_selection(tree: BlockTree, chosen: set[int]) -> set[int]:
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
    blocks: Sequence[ContentBlock], groups: Sequence[int], scores: Sequence[float]
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


# What is doubtful beside an article is seldom part of it.
_ARTICLE_DOUBT = 1.6


def choose_blocks(tree: BlockTree, scores: Sequence[float], *, is_article: bool) -> set[int]:
    """Return the numbers of the blocks that are the page's content, given the score of each.

    A long article is prose, and its title is told beside it; of any other page, the parts that
    would be torn apart and the heading belong to the content.
    """
    scores = lift_insets(tree, level_tables(tree, scores))
    if is_article:
        scores = [score**_ARTICLE_DOUBT for score in scores]
    chosen = _choose_best(tree, scores)
    return chosen if is_article and not is_small(tree) else complete_selection(tree, chosen)


def _choose_best(tree: BlockTree, scores: Sequence[float]) -> set[int]:
    """Return the blocks whose choice promises the best balance.

    Taking the likeliest first, it stops where the expected harmonic mean of precision and recall,
    counted in words, is highest: a doubtful block is taken on a page with little else to offer.
    """
    order = sorted(range(len(scores)), key=lambda number: -scores[number])
    expected = sum(score * block.words for score, block in zip(scores, tree.blocks, strict=True))
    taken, right = 0, 0.0
    best, best_count = 0.0, 0
    for count, number in enumerate(order, 1):
        words = tree.blocks[number].words
        taken += words
        right += scores[number] * words
        balance = 2 * right / (taken + expected)
        if balance > best:
            best, best_count = balance, count
    return set(order[:best_count])


_WRAPPERS = frozenset(("article", "body", "div", "form", "main", "section", "span"))


def prune(tree: BlockTree, chosen: AbstractSet[int]) -> LexborNode:
    """Leave of the tree the chosen blocks, the elements around them, and their pictures.

    The innermost element that holds all of it comes back.
    """
    kept = _count_kept_words(tree, chosen)
    detach([*_find_dropped(tree, kept), *_find_dropped_runs(tree, chosen, kept)])
    return _innermost(tree, kept)


def _count_kept_words(tree: BlockTree, chosen: AbstractSet[int]) -> list[int]:
    kept = [0] * len(tree.elements)
    for number in chosen:
        block = tree.blocks[number]
        kept[block.owner] += block.words
    for index in range(len(tree.elements) - 1, 0, -1):
        kept[tree.elements[index].parent] += kept[index]
    return kept


def _find_dropped(tree: BlockTree, kept: Sequence[int]) -> Iterator[LexborNode]:
    """Yield the elements that kept none of their words, and the pictures that go with them.

    A picture stays where at least half of the words around it do. A figure lends its own words,
    the caption, no weight: only they go where the caption was not chosen.
    """
    figures = _find_staying_figures(tree, kept)
    for index, element in enumerate(tree.elements):
        if not kept[index] and index not in figures:
            yield element.node
    for index, node in tree.pictures:
        around = index
        while around in figures:
            around = tree.elements[around].parent
        if kept[around] * 2 < tree.elements[around].words:
            yield node


def _find_staying_figures(tree: BlockTree, kept: Sequence[int]) -> set[int]:
    """Return the figures in whose parents at least half of the other words stay."""
    return {
        index
        for index, element in enumerate(tree.elements)
        if element.tag == "figure"
        and element.parent >= 0
        and kept[element.parent] * 2 >= tree.elements[element.parent].words - element.words
        and kept[element.parent]
    }


def _find_dropped_runs(
    tree: BlockTree, chosen: AbstractSet[int], kept: Sequence[int]
) -> Iterator[LexborNode]:
    """Yield what the dropped blocks of elements that stay consist of."""
    # A link may go around a line of text and elements that stand on their own.
    wrapping = {
        element.wrapper.mem_id
        for element, words in zip(tree.elements, kept, strict=True)
        if words and element.wrapper is not None
    }
    for number, block in enumerate(tree.blocks):
        if number not in chosen and kept[block.owner]:
            yield from (node for node in block.nodes if node.mem_id not in wrapping)


def _innermost(tree: BlockTree, kept: Sequence[int]) -> LexborNode:
    """Return the last of the mere wrappers that hold every word and every picture."""
    pictures = [0] * len(tree.elements)
    for index, _ in tree.pictures:
        pictures[index] += 1
    for index in range(len(tree.elements) - 1, 0, -1):
        pictures[tree.elements[index].parent] += pictures[index]
    found = 0
    for index, element in enumerate(tree.elements[1:], 1):
        holds_all = kept[index] == kept[0] and pictures[index] == pictures[0]
        if holds_all and element.parent == found and element.tag in _WRAPPERS:
            found = index
    return tree.elements[found].node
