from cinder.extract.main_content.coherence import (
    complete,
    level_tables,
    lift_insets,
)
from tests.extract.main_content.trees import block_tree

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

    assert complete(tree, {0, 2}) == {0, 1, 2}


def test_a_small_main_element_of_which_half_is_chosen_is_kept_whole() -> None:
    small = block_tree(f"<div>{LONG * 3}</div><main><p>one two</p><p>price</p></main>")
    large = block_tree(f"<main><p>{LONG * 3}</p><p>price</p></main>")

    assert complete(small, {1}) == {1, 2}
    assert complete(large, {0}) == {0}


def test_the_only_heading_is_kept() -> None:
    tree = block_tree(f"<header><h1>Name</h1></header><p>{LONG * 3}</p>")
    two = block_tree(f"<h1>One</h1><h1>Two</h1><p>{LONG * 3}</p>")

    assert complete(tree, {1}) == {0, 1}
    assert complete(two, {2}) == {2}


def test_a_small_page_is_read_whole_but_for_its_chrome() -> None:
    tree = block_tree("<nav>menu</nav><div><p>text</p><p>price</p></div><footer>imprint</footer>")

    assert complete(tree, {1}) == {1, 2}
