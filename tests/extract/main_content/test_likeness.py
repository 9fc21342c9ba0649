from cinder.extract.main_content.likeness import group_alike
from tests.extract.main_content.trees import block_tree


def test_blocks_of_the_same_make_are_together() -> None:
    post = "<div class=post><h4>today</h4><p>one two three</p></div>"
    tree = block_tree(f"<main>{post * 3}</main><p>other</p>")

    assert sorted(group_alike(tree)) == [[0, 2, 4], [1, 3, 5], [6]]


def test_classes_tell_blocks_apart() -> None:
    tree = block_tree("<p class=a>1<p class=b>2<p class=a>3<p class=a>4")

    assert sorted(group_alike(tree)) == [[0, 2, 3], [1]]


def test_two_of_a_make_are_each_for_itself() -> None:
    assert group_alike(block_tree("<p>1<p>2")) == [[0], [1]]
