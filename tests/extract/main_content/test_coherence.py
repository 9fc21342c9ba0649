from cinder.extract.main_content.coherence import complete, level_tables, lift_listings
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

    assert lift_listings(tree, [0.9, 0.1]) == [0.9, 0.9]
    assert lift_listings(tree, [0.1, 0.8]) == [0.1, 0.8]


def test_a_list_of_which_half_is_chosen_is_kept_whole() -> None:
    tree = block_tree("<ul><li>one</li><li>two</li></ul><ul><li>three</li><li>four five</li></ul>")

    assert complete(tree, {0, 2}, with_heading=False) == {0, 1, 2}


def test_a_small_main_element_of_which_half_is_chosen_is_kept_whole() -> None:
    small = block_tree("<nav>menu</nav><main><p>one two</p><p>price</p></main>")
    large = block_tree(f"<main><p>{LONG * 3}</p><p>price</p></main>")

    assert complete(small, {1}, with_heading=False) == {1, 2}
    assert complete(large, {0}, with_heading=False) == {0}


def test_the_only_heading_is_kept_if_wanted() -> None:
    tree = block_tree("<header><h1>Name</h1></header><p>text</p>")
    two = block_tree("<h1>One</h1><h1>Two</h1><p>text</p>")

    assert complete(tree, {1}, with_heading=True) == {0, 1}
    assert complete(tree, {1}, with_heading=False) == {1}
    assert complete(two, {2}, with_heading=True) == {2}
