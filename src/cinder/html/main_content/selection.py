"""Selection of the main content: chooses blocks by score and prunes the rest from the tree."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from selectolax.lexbor import LexborNode

from cinder.html.main_content.attached_parts import is_below
from cinder.html.main_content.blocks import BlockTree, ContentBlock
from cinder.html.main_content.features import PageHints
from cinder.html.tree import detach, move_into
from cinder.html.vocabulary import load_vocabulary

_CELLS = frozenset(("td", "th"))
_LISTS = frozenset(("ul", "ol", "dl"))
_INSET = _CELLS | {"pre"}
_INSET_LEVELS_UP = 3
_MIN_SHARE = 0.5
# A page or a main element with no more words than this is kept whole.
_SMALL_WORDS = 150
_CHROME = frozenset(load_vocabulary()["chrome"]["cues"])
_INNER_CHROME = frozenset(load_vocabulary()["chrome"]["inner_cues"])
# Of a page with more words than this, the scorer knows share bars and side bars by itself.
_INNER_CHROME_WORDS = 500
# Forms are not chrome of a large page: some wrap all of it.
_WIDE_CHROME = _CHROME.union(load_vocabulary()["chrome"]["further_cues"]) - {"<form>"}
# Doubtful blocks of an article seldom belong to it.
_ARTICLE_DOUBT = 1.2
# Those of a page of links, such as a listing, often do, where no choice promises more than this.
_UNSURE_BALANCE, _UNSURE_DOUBT, _LISTING_LINK_SHARE = 0.8, 0.7, 0.2
# A page of which less is kept is looked at again.
_MIN_KEPT_SHARE = 0.7
# Of one of which still less is kept, and no prose, the prose is kept whatever its score.
_MIN_SHARE_WITHOUT_PROSE = 0.2
# Its other blocks are kept if they are this likely on average, and each a little.
_DOUBTFUL_SCORE = 0.1
_MIN_DOUBTFUL_SCORE = 0.05
# They are kept whatever their score, if they are a long text that is not mostly links.
_LONG_WORDS = 1_500
_LONG_MAX_LINK_SHARE = 0.35
_WRAPPERS = frozenset(("article", "body", "div", "form", "main", "section", "span"))


def choose_blocks(tree: BlockTree, scores: Sequence[float], hints: PageHints) -> set[int]:
    """Return the numbers of the blocks that are the page's content, given the score of each.

    A long article is prose; of other pages, the rest of lists and small main elements belong to the
    content.
    """
    scores = lift_insets(tree, level_tables(tree, scores))
    if hints.is_article:
        scores = [score**_ARTICLE_DOUBT for score in scores]
    chosen, balance = take_best(tree, scores)
    is_known = hints.is_article or hints.is_product
    if balance < _UNSURE_BALANCE and not is_known and is_listing(tree, chosen):
        chosen, _ = take_best(tree, [score**_UNSURE_DOUBT for score in scores])
    if tree.root.words <= _INNER_CHROME_WORDS:
        chosen = chosen.intersection(_find_outside(tree, chosen, _INNER_CHROME, 1 / 4))
    if not hints.is_article or tree.root.words <= _SMALL_WORDS:
        chosen = complete_selection(tree, chosen)
        # The other text of a product's page is about other products.
        if not hints.is_product:
            chosen = keep_more(tree, scores, chosen)
    return keep_prose(tree, chosen)


def take_best(tree: BlockTree, scores: Sequence[float]) -> tuple[set[int], float]:
    """Take blocks in the order of their scores, up to where the expected balance is highest.

    The balance is the harmonic mean of precision and recall, in words: a doubtful block is taken on
    a page with little else. Returns the numbers of the blocks, and the balance.
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
    return set(order[:best_count]), best


def is_listing(tree: BlockTree, chosen: AbstractSet[int]) -> bool:
    """Whether links are more than a few of the chosen words."""
    blocks = [tree.blocks[number] for number in chosen]
    links = sum(block.link_words for block in blocks)
    return links > _LISTING_LINK_SHARE * sum(block.words for block in blocks)


def keep_more(tree: BlockTree, scores: Sequence[float], chosen: set[int]) -> set[int]:
    """Return the chosen blocks of a page, with others where too much of its text is left out.

    A scorer that has seen no such page doubts all of a reference manual or of a listing, but for a
    few blocks: losing a page is worse than keeping some of its chrome.
    """
    outside = find_outside_chrome(tree, chosen)
    if share_of(tree, chosen, outside) >= _MIN_KEPT_SHARE:
        return chosen
    left = [number for number in outside if number not in chosen]
    blocks = [tree.blocks[number] for number in left]
    words = sum(block.words for block in blocks)
    links = sum(block.link_words for block in blocks)
    mean = sum(scores[number] * tree.blocks[number].words for number in left) / words
    if mean > _DOUBTFUL_SCORE:
        return chosen.union(number for number in left if scores[number] >= _MIN_DOUBTFUL_SCORE)
    is_long = words > _LONG_WORDS and links < words * _LONG_MAX_LINK_SHARE
    return chosen.union(left) if is_long else chosen


def keep_prose(tree: BlockTree, chosen: set[int]) -> set[int]:
    """Return the chosen blocks, with all prose of a page where they have none and are its least."""
    if any(tree.blocks[number].prose_words for number in chosen):
        return chosen
    outside = find_outside_chrome(tree, chosen)
    if share_of(tree, chosen, outside) >= _MIN_SHARE_WITHOUT_PROSE:
        return chosen
    return chosen.union(number for number in outside if tree.blocks[number].prose_words)


def find_outside_chrome(tree: BlockTree, chosen: AbstractSet[int]) -> list[int]:
    """Return the numbers of the blocks that are not in navigation, side bars and the like.

    An element that holds most of the chosen words is none of these, whatever its name.
    """
    return _find_outside(tree, chosen, _WIDE_CHROME, 1 / 2)


def _find_outside(
    tree: BlockTree, chosen: AbstractSet[int], cues: AbstractSet[str], max_share: float
) -> list[int]:
    """Return the blocks outside elements with these cues and at most a share of the content."""
    kept = _count_kept(tree, chosen)
    is_chrome: list[bool] = []
    for element, words in zip(tree.elements, kept, strict=True):
        above = element.parent >= 0 and is_chrome[element.parent]
        is_named = not cues.isdisjoint(element.cues) and words <= kept[0] * max_share
        is_chrome.append(above or is_named)
    return [number for number, block in enumerate(tree.blocks) if not is_chrome[block.owner]]


def share_of(tree: BlockTree, chosen: AbstractSet[int], outside: Sequence[int]) -> float:
    """Return the share of the words outside chrome that are chosen."""
    words = sum(tree.blocks[number].words for number in outside)
    kept = sum(tree.blocks[number].words for number in outside if number in chosen)
    return kept / words if words else 1.0


def level_tables(tree: BlockTree, scores: Sequence[float]) -> list[float]:
    """Give all cells of a table the same score: a table without some cells would be misread.

    Only cells with nothing but text count; those of a layout contain elements.
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
    """Give tables and listings, which read unlike prose, at least the score of the text around."""
    if not any(tree.elements[block.owner].tag in _INSET for block in tree.blocks):
        return list(scores)
    nearest = _nearest(tree, frozenset(("table", "pre")))
    insets = [
        nearest[block.owner] if tree.elements[block.owner].tag in _INSET else -1
        for block in tree.blocks
    ]
    # The mean score of the text in each parent and grandparent of its owners.
    pairs = [
        (block, score)
        for block, score, inset in zip(tree.blocks, scores, insets, strict=True)
        if inset < 0
    ]
    parents = [tree.elements[block.owner].parent for block, _ in pairs]
    above = [tree.elements[parent].parent if parent >= 0 else -1 for parent in parents]
    blocks, counted = [block for block, _ in pairs], [score for _, score in pairs]
    around = _means(blocks * 2, parents + above, counted * 2)
    lifted = list(scores)
    for number, inset in enumerate(insets):
        index = tree.elements[inset].parent if inset >= 0 else -1
        for _ in range(_INSET_LEVELS_UP if inset >= 0 else 0):
            if index in around:
                lifted[number] = max(scores[number], around[index])
                break
            index = tree.elements[index].parent if index >= 0 else -1
    return lifted


def complete_selection(tree: BlockTree, chosen: set[int]) -> set[int]:
    """Add the blocks that belong to the chosen ones.

    These are the rest of a list, or of a small main element, of which half is chosen, and all but
    the chrome of a small page.
    """
    if tree.root.words <= _SMALL_WORDS:
        is_chrome: list[bool] = []
        for element in tree.elements:
            above = element.parent >= 0 and is_chrome[element.parent]
            is_chrome.append(above or not _CHROME.isdisjoint(element.cues))
        blocks = enumerate(tree.blocks)
        chosen = chosen | {number for number, block in blocks if not is_chrome[block.owner]}
    lists = _nearest(tree, _LISTS)
    chosen = _fill(tree, chosen, [lists[block.owner] for block in tree.blocks])
    # The main element, or else the only article, if it is small.
    tags = [element.tag for element in tree.elements]
    tag = "main" if "main" in tags else "article"
    mains = [index for index, name in enumerate(tags) if name == tag]
    if len(mains) == 1 and tree.elements[mains[0]].words <= _SMALL_WORDS:
        nearest = _nearest(tree, frozenset(mains), by_index=True)
        chosen = _fill(tree, chosen, [nearest[block.owner] for block in tree.blocks])
    return chosen


def _nearest(
    tree: BlockTree, names: frozenset[str] | frozenset[int], *, by_index: bool = False
) -> list[int]:
    """Return, for each element, itself or its nearest ancestor of these tags or indexes, or -1."""
    found: list[int] = []
    for index, element in enumerate(tree.elements):
        is_named = (index if by_index else element.tag) in names
        above = found[element.parent] if element.parent >= 0 else -1
        found.append(index if is_named else above)
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


def _fill(tree: BlockTree, chosen: set[int], groups: Sequence[int]) -> set[int]:
    """Add the blocks of every group of which at least half the words are chosen."""
    picked = [float(number in chosen) for number in range(len(groups))]
    shares = _means(tree.blocks, groups, picked)
    whole = {group for group, share in shares.items() if share >= _MIN_SHARE}
    return chosen | {number for number, group in enumerate(groups) if group in whole}


def _count_kept(tree: BlockTree, chosen: AbstractSet[int]) -> list[int]:
    """Return the number of chosen words in each element."""
    kept = [0] * len(tree.elements)
    for number in chosen:
        block = tree.blocks[number]
        kept[block.owner] += block.words
    for index in range(len(tree.elements) - 1, 0, -1):
        kept[tree.elements[index].parent] += kept[index]
    return kept


def prune(
    tree: BlockTree,
    chosen: AbstractSet[int],
    head: LexborNode | None = None,
    lead: LexborNode | None = None,
) -> LexborNode:
    """Reduce the tree to the chosen blocks, the elements around them, and their pictures.

    A lead picture that would go is moved to the head, if there is one. Returns the innermost
    element that contains all of the tree's content.
    """
    kept = _count_kept(tree, chosen)
    pictures = [0] * len(tree.elements)
    for index, _ in tree.pictures:
        pictures[index] += 1
    for index in range(len(tree.elements) - 1, 0, -1):
        pictures[tree.elements[index].parent] += pictures[index]
    dropped = [*_find_dropped(tree, chosen, kept)]
    if head is not None and lead is not None and is_below(lead, dropped):
        move_into(head, [lead])
        dropped = [node for node in dropped if not is_below(node, [lead])]
    detach(dropped)
    # The last of the wrappers that contain every word and every picture.
    found = 0
    for index, element in enumerate(tree.elements[1:], 1):
        holds_all = kept[index] == kept[0] and pictures[index] == pictures[0]
        if holds_all and element.parent == found and element.tag in _WRAPPERS:
            found = index
    return tree.elements[found].node


def _find_dropped(
    tree: BlockTree, chosen: AbstractSet[int], kept: Sequence[int]
) -> Iterator[LexborNode]:
    """Yield the elements without kept words, dropped pictures, and dropped runs of text."""
    elements = tree.elements
    # A picture stays if at least half of the words around it do; its caption does not count.
    staying_figures = {
        index
        for index, element in enumerate(elements)
        if element.tag == "figure"
        and element.parent >= 0
        and kept[element.parent] * 2 >= elements[element.parent].words - element.words
        and kept[element.parent]
    }
    in_figure: list[bool] = []
    for index, element in enumerate(elements):
        above = element.parent >= 0 and in_figure[element.parent]
        in_figure.append(above or index in staying_figures)
        if not kept[index] and not in_figure[index]:
            yield element.node
    for index, node in tree.pictures:
        around = index
        while around in staying_figures:
            around = elements[around].parent
        if kept[around] * 2 < elements[around].words:
            yield node
    # A link may contain a line of text and block-level elements, of which some stay.
    wrapping = {
        element.wrapper.mem_id
        for element, words in zip(tree.elements, kept, strict=True)
        if words and element.wrapper is not None
    }
    for number, block in enumerate(tree.blocks):
        if number not in chosen and kept[block.owner]:
            yield from (node for node in block.nodes if node.mem_id not in wrapping)
