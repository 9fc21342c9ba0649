"""tests.html.main_content.test_selection"""

from dataclasses import replace

from cinder.html.main_content.blocks import read_blocks
from cinder.html.main_content.features import PageHints
from cinder.html.main_content.selection import (
    choose_blocks,
    complete_selection,
    find_outside_chrome,
    level_tables,
    lift_insets,
    prune,
    share_of,
)
from cinder.html.tree import parse_html
from tests.html.main_content.trees import block_tree


def pruned(html: str, *kept: str) -> str:
    """Return the body's HTML when only the blocks that hold one of the words were chosen."""
    body = parse_html(html).body
    assert body is not None
    tree = read_blocks(body)
    chosen = {
        number
        for number, block in enumerate(tree.blocks)
        if any(word in block.text for word in kept)
    }
    prune(tree, chosen)
    return body.inner_html or ""


def test_elements_without_chosen_words_go_whole() -> None:
    html = "<nav><ul><li>menu</li></ul></nav><main><p>text</p><p>advert</p></main>"

    assert pruned(html, "text") == "<main><p>text</p></main>"


def test_runs_are_taken_out_of_elements_that_stay() -> None:
    html = "<div>share <b>this</b><p>text</p>advert</div>"

    assert pruned(html, "text") == "<div><p>text</p></div>"


def test_a_link_that_goes_around_chosen_blocks_stays() -> None:
    html = "<div><a href=x>label<p>text</p></a></div>"

    assert "<p>text</p>" in pruned(html, "text")


def test_a_picture_stays_with_the_words_around_it() -> None:
    kept = "<article><p>text text text</p><div><img src='a.png'></div></article>"
    html = f"{kept}<aside><img src='b.png'><p>advert</p></aside>"

    assert pruned(html, "text") == kept.replace("'", '"')


def test_a_picture_among_dropped_words_goes() -> None:
    html = "<div><h2>text</h2><div><img src='x.png'></div><p>an advert that is longer</p></div>"

    assert pruned(html, "text") == "<div><h2>text</h2><div></div></div>"


def test_the_innermost_wrapper_of_all_words_and_pictures_comes_back() -> None:
    body = parse_html("<div><nav>menu</nav><main><p>one</p><p>two</p></main></div>").body
    assert body is not None
    tree = read_blocks(body)

    assert prune(tree, {1, 2}).tag == "main"


def test_the_cells_of_a_table_have_one_score() -> None:
    tree = block_tree("<table><tr><th>a<th>b<tr><td>c<td>d</table><p>e</p>")

    assert level_tables(tree, [1.0, 0.0, 1.0, 0.0, 0.2]) == [0.5, 0.5, 0.5, 0.5, 0.2]


def test_the_cells_of_a_layout_keep_theirs() -> None:
    tree = block_tree("<table><tr><td><p>menu</p><td><p>text</p></table>")

    assert level_tables(tree, [0.1, 0.9]) == [0.1, 0.9]


def test_a_listing_has_at_least_the_score_of_the_text_around_it() -> None:
    tree = block_tree("<div><p>text</p><pre>code</pre></div>")

    assert lift_insets(tree, [0.9, 0.1]) == [0.9, 0.9]
    assert lift_insets(tree, [0.1, 0.8]) == [0.1, 0.8]


def test_a_table_has_at_least_the_score_of_the_text_around_it() -> None:
    tree = block_tree("<div><p>text</p><table><tr><td>a<td>b</table></div>")

    assert lift_insets(tree, [0.9, 0.1, 0.1]) == [0.9, 0.9, 0.9]


def test_a_list_of_which_half_is_chosen_is_kept_whole() -> None:
    lists = "<ul><li>one</li><li>two</li></ul><ul><li>three</li><li>four five</li></ul>"
    tree = block_tree(f"{lists}<p>{LONG * 3}</p>")

    assert complete_selection(tree, {0, 2}) == {0, 1, 2}


def test_a_small_main_element_of_which_half_is_chosen_is_kept_whole() -> None:
    small = block_tree(f"<div>{LONG * 3}</div><main><p>one two</p><p>price</p></main>")
    large = block_tree(f"<main><p>{LONG * 3}</p><p>price</p></main>")

    assert complete_selection(small, {1}) == {1, 2}
    assert complete_selection(large, {0}) == {0}


def test_a_small_page_is_read_whole_but_for_its_chrome() -> None:
    tree = block_tree("<nav>menu</nav><div><p>text</p><p>price</p></div><footer>imprint</footer>")

    assert complete_selection(tree, {1}) == {1, 2}


LONG = "word " * 60
LONGER = "word " * 160
PAGE = PageHints((), frozenset(), frozenset())
ARTICLE = replace(PAGE, is_article=True)
PRODUCT = replace(PAGE, is_product=True)


def test_likely_blocks_are_chosen_and_unlikely_ones_are_not() -> None:
    tree = block_tree(f"<p>{LONGER}</p><div>{LONGER}</div><h2>{LONGER}</h2>")

    assert choose_blocks(tree, [0.9, 0.1, 0.8], ARTICLE) == {0, 2}


def test_a_doubtful_block_is_chosen_where_there_is_nothing_better() -> None:
    tree = block_tree(f"<p>{LONGER}</p><p>{LONGER}</p>")

    assert choose_blocks(tree, [0.3, 0.01], ARTICLE) == {0}


def test_a_table_is_chosen_whole_or_not_at_all() -> None:
    cells = f"<tr><td>{LONGER}<td>{LONGER}"
    tree = block_tree(f"<table>{cells}</table><table class=other>{cells}</table>")

    assert choose_blocks(tree, [0.95, 0.4, 0.05, 0.1], ARTICLE) == {0, 1}


def test_a_listing_goes_with_the_text_around_it() -> None:
    tree = block_tree(f"<main><p>{LONGER}</p><pre>{LONGER}</pre></main><p>{LONGER}</p>")

    assert choose_blocks(tree, [0.9, 0.1, 0.1], ARTICLE) == {0, 1}


def test_a_page_without_blocks_has_nothing_to_choose() -> None:
    assert choose_blocks(block_tree(""), [], PAGE) == set()


def test_a_small_article_is_read_whole() -> None:
    tree = block_tree("<h1>Name</h1><p>few words</p><nav>menu</nav>")

    assert choose_blocks(tree, [0.01, 0.9, 0.01], ARTICLE) == {0, 1}


def test_doubtful_text_is_kept_where_most_of_the_page_would_go() -> None:
    tree = block_tree(f"<p>{LONGER}</p><dl>" + f"<dd>{LONGER}</dd>" * 3 + f"</dl><div>{LONGER}")
    scores = [0.95, 0.15, 0.15, 0.15, 0.01]

    assert choose_blocks(tree, scores, PAGE) == {0, 1, 2, 3}
    assert choose_blocks(tree, scores, ARTICLE) == {0}
    assert choose_blocks(tree, scores, PRODUCT) == {0}


def test_a_doubtful_card_of_a_listing_is_chosen_but_no_doubtful_prose() -> None:
    cards = f"<div><a href=x>{LONGER * 3}</a></div>" * 2 + f"<div>{LONGER}</div><p>{LONGER}</p>"
    prose = cards.replace("<a href=x>", "<b>").replace("</a>", "</b>")
    scores = [0.6, 0.5, 0.3, 0.02]

    assert choose_blocks(block_tree(cards), scores, PAGE) == {0, 1, 2}
    assert choose_blocks(block_tree(prose), scores, PAGE) == {0, 1}


def test_a_long_text_is_kept_however_unlikely_it_is() -> None:
    tree = block_tree(f"<p>{LONGER}</p><div>" + f"<p class=x>{LONGER}</p>" * 12 + "</div>")
    links = block_tree(f"<p>{LONGER}</p><div>" + f"<p><a href=x>{LONGER}</a></p>" * 12 + "</div>")

    assert choose_blocks(tree, [0.95] + [0.01] * 12, PAGE) == set(range(13))
    assert choose_blocks(links, [0.95] + [0.01] * 12, PAGE) == {0}


def test_the_prose_of_a_page_is_kept_where_only_its_title_would_be() -> None:
    menu = "".join(f"<li><a href=/{n}>entry</a>" for n in range(200))
    tree = block_tree(f"<nav><ul>{menu}</ul></nav><h1>A title</h1><div>{LONGER}</div>")
    title, prose = 200, 201
    scores = [0.001] * 200 + [0.06, 0.02]

    assert choose_blocks(tree, scores, PAGE) == {title, prose}
    assert choose_blocks(tree, scores, ARTICLE) == {title, prose}


def test_chrome_is_left_out_of_the_share_that_is_kept() -> None:
    html = f"<nav>{LONG}</nav><p>{LONG}</p><div class=sidebar>{LONG}</div><p>{LONG}</p>"
    tree = block_tree(html)

    assert find_outside_chrome(tree, {1}) == [1, 3]
    assert share_of(tree, {1}, [1, 3]) == 0.5


def test_chrome_that_holds_the_content_is_none() -> None:
    tree = block_tree(f"<div class=sidebar><p>{LONG}</p></div><p>few</p>")

    assert find_outside_chrome(tree, {0}) == [0, 1]


def test_the_caption_of_a_picture_stays_with_it() -> None:
    figure = "<figure><img src='a.png'><figcaption>a caption</figcaption></figure>"
    html = f"<article><p>text text text</p>{figure}</article>"

    assert pruned(html, "text") == html.replace("'", '"')
