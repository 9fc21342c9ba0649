from cinder.extract.html_tree import parse_html
from cinder.extract.main_content.page_hints import PageHints, read_hints
from cinder.model.document import PageMetadata


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
