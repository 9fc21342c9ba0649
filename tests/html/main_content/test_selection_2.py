"""tests.html.main_content.test_selection_2"""

from cinder.html.main_content.selection import choose_blocks
from tests.html.main_content.trees import block_tree

LONG = "word " * 160


def test_likely_blocks_are_chosen_and_unlikely_ones_are_not() -> None:
    tree = block_tree(f"<p>{LONG}</p><div>{LONG}</div><h2>{LONG}</h2>")

    assert choose_blocks(tree, [0.9, 0.1, 0.8], is_article=True) == {0, 2}


def test_a_doubtful_block_is_chosen_where_there_is_nothing_better() -> None:
    tree = block_tree(f"<p>{LONG}</p><p>{LONG}</p>")

    assert choose_blocks(tree, [0.3, 0.01], is_article=True) == {0}


def test_a_table_is_chosen_whole_or_not_at_all() -> None:
    cells = f"<tr><td>{LONG}<td>{LONG}"
    tree = block_tree(f"<table>{cells}</table><table class=other>{cells}</table>")

    assert choose_blocks(tree, [0.95, 0.4, 0.05, 0.1], is_article=True) == {0, 1}


def test_a_listing_goes_with_the_text_around_it() -> None:
    tree = block_tree(f"<main><p>{LONG}</p><pre>{LONG}</pre></main><p>{LONG}</p>")

    assert choose_blocks(tree, [0.9, 0.1, 0.1], is_article=True) == {0, 1}


def test_the_heading_belongs_to_any_page_but_an_article() -> None:
    tree = block_tree(f"<h1>Name</h1><p>{LONG}</p>")

    assert choose_blocks(tree, [0.01, 0.9], is_article=False) == {0, 1}
    assert choose_blocks(tree, [0.01, 0.9], is_article=True) == {1}


def test_a_page_without_blocks_has_nothing_to_choose() -> None:
    assert choose_blocks(block_tree(""), [], is_article=False) == set()


def test_a_small_article_is_read_whole() -> None:
    tree = block_tree("<h1>Name</h1><p>few words</p><nav>menu</nav>")

    assert choose_blocks(tree, [0.01, 0.9, 0.01], is_article=True) == {0, 1}
