"""tests.html.main_content.test_features"""

from cinder.html.main_content.features import PageFeatures, PageHints, read_hints
from cinder.html.tree import parse_html
from cinder.models.document import PageMetadata
from tests.html.main_content.trees import block_tree

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
    features = PageFeatures(tree, hints, {"<nav>": -1.0})
    return {
        (
            len(features.of_parent(max(tree.elements[block.owner].parent, 0))),
            len(features.of_owner(block.owner)),
            len(features.of_block(number)),
        )
        for number, block in enumerate(tree.blocks)
    }


def test_every_block_of_every_page_has_as_many_features() -> None:
    assert len({size for html in PAGES for size in sizes(html)}) == 1


def hints(url: str = "https://site.test/", generator: str = "", **said: object) -> PageHints:
    tree = parse_html(f'<meta name="Generator" content="{generator}">')
    return read_hints(tree, PageMetadata(**said), url)  # type: ignore[arg-type] # any field


def test_every_page_has_as_many_hints() -> None:
    plain = hints(url="not a url")
    rich = hints(
        url="https://shop.test/products/blue-mug?size=2",
        generator="WordPress 6.1",
        open_graph={"og:type": "article", "og:title": "Blue mug"},
        json_ld=({"@type": ["Product", 3]}, "text", {"@type": None}),
    )

    assert len(plain.values) == len(rich.values)
    assert sum(plain.values) == 0
    assert sum(rich.values) > 5


def test_the_words_of_title_and_description_are_kept() -> None:
    found = hints(title="A Blue Mug", description="Holds tea", open_graph={"og:title": "Mug!"})

    assert found.title_words == {"a", "blue", "mug"}
    assert found.description_words == {"holds", "tea"}
