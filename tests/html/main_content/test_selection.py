"""tests.html.main_content.test_selection"""

from cinder.html.main_content.blocks import read_blocks
from cinder.html.main_content.selection import (
    choose_blocks,
    complete_selection,
    level_tables,
    lift_insets,
    prune,
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


def test_a_figure_amid_the_text_stays_without_a_caption_that_was_not_chosen() -> None:
    figure = "<figure><img src='a.png'><figcaption>caption</figcaption></figure>"
    html = f"<article><p>text text</p>{figure}<p>text text</p></article>"

    assert '<figure><img src="a.png"></figure>' in pruned(html, "text")


LONG = "word " * 60


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


def test_the_only_heading_is_kept() -> None:
    tree = block_tree(f"<header><h1>Name</h1></header><p>{LONG * 3}</p>")
    two = block_tree(f"<h1>One</h1><h1>Two</h1><p>{LONG * 3}</p>")

    assert complete_selection(tree, {1}) == {0, 1}
    assert complete_selection(two, {2}) == {2}


def test_a_small_page_is_read_whole_but_for_its_chrome() -> None:
    tree = block_tree("<nav>menu</nav><div><p>text</p><p>price</p></div><footer>imprint</footer>")

    assert complete_selection(tree, {1}) == {1, 2}


LONGER = "word " * 160


def test_likely_blocks_are_chosen_and_unlikely_ones_are_not() -> None:
    tree = block_tree(f"<p>{LONGER}</p><div>{LONGER}</div><h2>{LONGER}</h2>")

    assert choose_blocks(tree, [0.9, 0.1, 0.8], is_article=True) == {0, 2}


def test_a_doubtful_block_is_chosen_where_there_is_nothing_better() -> None:
    tree = block_tree(f"<p>{LONGER}</p><p>{LONGER}</p>")

    assert choose_blocks(tree, [0.3, 0.01], is_article=True) == {0}


def test_a_table_is_chosen_whole_or_not_at_all() -> None:
    cells = f"<tr><td>{LONGER}<td>{LONGER}"
    tree = block_tree(f"<table>{cells}</table><table class=other>{cells}</table>")

    assert choose_blocks(tree, [0.95, 0.4, 0.05, 0.1], is_article=True) == {0, 1}


def test_a_listing_goes_with_the_text_around_it() -> None:
    tree = block_tree(f"<main><p>{LONGER}</p><pre>{LONGER}</pre></main><p>{LONGER}</p>")

    assert choose_blocks(tree, [0.9, 0.1, 0.1], is_article=True) == {0, 1}


def test_the_heading_belongs_to_any_page_but_an_article() -> None:
    tree = block_tree(f"<h1>Name</h1><p>{LONGER}</p>")

    assert choose_blocks(tree, [0.01, 0.9], is_article=False) == {0, 1}
    assert choose_blocks(tree, [0.01, 0.9], is_article=True) == {1}


def test_a_page_without_blocks_has_nothing_to_choose() -> None:
    assert choose_blocks(block_tree(""), [], is_article=False) == set()


def test_a_small_article_is_read_whole() -> None:
    tree = block_tree("<h1>Name</h1><p>few words</p><nav>menu</nav>")

    assert choose_blocks(tree, [0.01, 0.9, 0.01], is_article=True) == {0, 1}
