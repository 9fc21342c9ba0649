"""tests.html.main_content.test_blocks"""

from cinder.html.main_content.blocks import (
    count_siblings,
    find_container,
    find_nearest,
    read_cues,
    read_paths,
)
from tests.html.main_content.trees import block_tree, texts


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


SENTENCE = "This sentence has more than ten words, so that it counts as prose."


def test_weights_of_cues_add_up_along_the_path() -> None:
    tree = block_tree("<div class=post><p class=meta>text</p></div>")
    _, cues = read_paths(tree, {"post": 2.0, "meta": -1.0})

    assert cues[1] == (0.0, 2.0, 0.0, 2.0, 2.0)
    assert cues[2][:4] == (-1.0, 0.0, -1.0, 2.0)
    assert 0 < cues[2][4] < 1


def test_like_siblings_are_counted() -> None:
    tree = block_tree("<ul><li class=a>1<li class=a>2<li class=b>3<li class=a>4</ul>")
    sizes = count_siblings(tree)
    items = [tree.elements[block.owner] for block in tree.blocks]

    assert [sizes[item.parent, item.tag, item.class_name] for item in items] == [3, 3, 1, 3]


def test_the_container_is_the_smallest_element_with_most_of_the_prose() -> None:
    tree = block_tree(f"<div><main><p>{SENTENCE}</p><p>{SENTENCE}</p></main><p>short</p></div>")
    container = find_container(tree)

    innermost = min(container, key=container.__getitem__)
    assert tree.elements[innermost].tag == "main"
    assert container[0] == 2


def test_the_nearest_large_element_is_found_from_below() -> None:
    tree = block_tree(f"<main><p>{SENTENCE}</p></main><div><p>few words</p></div>")
    _, large = find_nearest(tree, find_container(tree))

    assert [tree.elements[large[block.owner]].tag for block in tree.blocks] == ["p", "body"]


def test_class_and_id_are_split_into_words_and_kept_whole() -> None:
    assert read_cues("div", {"class": "post-body large", "id": "mainContent2"}) == (
        *("<div>", "post", "body", "post-body", "large", "main", "content", "main-content"),
    )


def test_words_of_other_languages_are_read_as_english_ones() -> None:
    assert read_cues("div", {"class": "opOpinia tresc lista-komentarzy"}) == (
        *("<div>", "op", "comments", "op-comments", "content", "lista", "lista-comments"),
    )


def test_roles_schema_and_labels_are_cues() -> None:
    attributes = {
        "role": "Main",
        "itemprop": "articleBody",
        "itemtype": "https://schema.org/Article/",
        "aria-hidden": "true",
        "data-testid": "story-text",
    }

    assert read_cues("section", attributes) == (
        *("<section>", "role=main", "itemprop=articlebody", "itemtype=article", "aria-hidden"),
        *("data-testid=story", "data-testid=text", "data-testid=story-text"),
    )


def test_an_element_without_attributes_is_known_by_its_tag() -> None:
    assert read_cues("p", {}) == ("<p>",)


def test_an_absurdly_long_class_is_cut() -> None:
    assert len(read_cues("p", {"class": "word-" * 100_000})) < 30
