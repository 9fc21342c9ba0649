from cinder.extract.main_content.cues import CueWeights
from cinder.extract.main_content.structure import (
    count_siblings,
    find_container,
    find_nearest,
    read_paths,
)
from tests.extract.main_content.trees import block_tree

SENTENCE = "This sentence has more than ten words, so that it counts as prose."


def test_weights_of_cues_add_up_along_the_path() -> None:
    tree = block_tree("<div class=post><p class=meta>text</p></div>")
    _, cues = read_paths(tree, CueWeights({"post": 2.0, "meta": -1.0}))

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
