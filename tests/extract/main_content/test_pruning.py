from cinder.extract.html_tree import parse_html
from cinder.extract.main_content.blocks import read_blocks
from cinder.extract.main_content.pruning import prune


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
