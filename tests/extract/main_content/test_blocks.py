from tests.extract.main_content.trees import block_tree, texts


def test_inline_elements_belong_to_the_text_around_them() -> None:
    tree = block_tree("<p>One <b>bold</b> word and <a href=x>a link</a>.</p><p>Two</p>")

    assert texts(tree) == ["One bold word and a link .", "Two"]


def test_text_beside_elements_of_its_own_makes_runs() -> None:
    tree = block_tree("<div>before<p>inside</p>after <i>all</i></div>")

    assert texts(tree) == ["before", "inside", "after all"]
    assert [tree.elements[block.owner].tag for block in tree.blocks] == ["div", "p", "div"]


def test_words_are_counted_up_to_the_root() -> None:
    tree = block_tree("<main><p>one two <a href=x>three</a></p><ul><li>four</ul></main>")

    main = tree.elements[1]
    assert (main.words, main.link_words, main.blocks) == (4, 1, 2)
    assert (tree.root.words, tree.root.link_share) == (4, 0.25)


def test_only_longer_runs_without_many_links_are_prose() -> None:
    sentence = "A sentence of ten words is just long enough here."
    tree = block_tree(f"<p>{sentence}</p><p>Too short</p><p><a href=x>{sentence}</a></p>")

    assert [block.prose_words for block in tree.blocks] == [10, 0, 0]
    assert tree.root.prose_words == 10


def test_a_listing_is_one_block_however_it_is_marked_up() -> None:
    tree = block_tree("<pre><div>first</div><div><span>second</span></div></pre>")

    assert len(tree.blocks) == 1


def test_a_run_knows_the_children_that_it_consists_of() -> None:
    tree = block_tree("<div>one <b>two <i>three</i></b><p>four</p></div>")

    assert [node.tag for node in tree.blocks[0].nodes] == ["-text", "b"]


def test_line_breaks_separate_words() -> None:
    assert texts(block_tree("<p>one<br>two</p>")) == ["one two"]


def test_a_page_without_text_has_no_blocks() -> None:
    tree = block_tree("<div><img src=x></div>")

    assert tree.blocks == []
    assert tree.root.words == 0
