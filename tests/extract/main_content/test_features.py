from cinder.extract.html_tree import parse_html
from cinder.extract.main_content.cues import CueWeights
from cinder.extract.main_content.features import SIZES, PageFeatures
from cinder.extract.main_content.page_hints import read_hints
from cinder.model.document import PageMetadata
from tests.extract.main_content.trees import block_tree

PAGES = (
    "<p>one</p>",
    "bare text",
    "<nav><a href=x>menu</a></nav><main><h1>Title</h1><p>A text.</p><pre>code</pre></main>",
    "<table><tr><td>a<td>b<tr><td>c<td>d</table>",
    "<ul>" + "<li class=item>entry</li>" * 40 + "</ul>",
)


def sizes(html: str) -> set[tuple[int, ...]]:
    tree = block_tree(html)
    hints = read_hints(parse_html(html), PageMetadata(), "https://site.test/")
    features = PageFeatures(tree, hints, CueWeights({"<nav>": -1.0}))
    return {
        (
            len(features.of_parent(max(tree.elements[block.owner].parent, 0))),
            len(features.of_owner(block.owner)),
            len(features.of_block(number)),
        )
        for number, block in enumerate(tree.blocks)
    }


def test_every_block_of_every_page_has_as_many_features_as_the_scorer_expects() -> None:
    assert {size for html in PAGES for size in sizes(html)} == {SIZES}
