"""What JSON-LD says of the work that a page is."""

from cinder.extract.metadata.schema_org import Graph
from cinder.model.document import Json


def test_the_article_counts_more_than_the_page() -> None:
    graph = Graph(
        [{"@type": "WebPage", "headline": "Page"}, {"@type": ["NewsArticle"], "headline": "Work"}]
    )
    assert list(graph.texts("headline")) == ["Work", "Page"]


def test_a_page_that_lists_many_works_is_none_of_them() -> None:
    posts = [{"@type": "BlogPosting", "headline": f"Post {number}"} for number in range(9)]
    assert list(Graph(posts).texts("headline")) == []


def test_the_keys_asked_for_first_count_most() -> None:
    graph = Graph([{"@type": "Article", "dateCreated": "1", "datePublished": "2"}])
    assert list(graph.texts("datePublished", "dateCreated")) == ["2", "1"]


def test_escapes_of_html_are_undone() -> None:
    graph = Graph([{"@type": "Article", "headline": "Ash &amp; oak", "author": "Bo &amp; Al"}])
    assert list(graph.texts("headline")) == ["Ash & oak"]
    assert graph.authors(are_people=True) == ["Bo & Al"]


def test_people_are_told_from_organisations_by_what_they_refer_to() -> None:
    graph = Graph(
        [
            {"@type": "Article", "author": [{"@id": "#site"}, {"@id": "#ada"}, {"@id": "#gone"}]},
            {"@type": "Organization", "@id": "#site", "name": "Ember"},
            {"@type": "Person", "@id": "#ada", "name": "Ada"},
            {"@type": "WebSite", "name": "Ember Magazine"},
        ]
    )
    assert graph.authors(are_people=True) == ["Ada"]
    assert graph.authors(are_people=False) == ["Ember"]
    assert graph.site_name() == "Ember Magazine"
    assert list(graph.site_names()) == ["Ember", "Ember Magazine"]


def test_a_name_that_refers_to_itself_ends() -> None:
    person: dict[str, Json] = {"@type": "Person", "@id": "#a", "name": {"@id": "#a"}}
    graph = Graph([{"@type": "Article", "author": {"@id": "#a"}}, person])
    assert graph.authors(are_people=True) == []


def test_what_customers_say_of_a_product_is_not_the_page() -> None:
    review = {"@type": "Review", "author": "Bo"}
    shop = Graph([{"@type": "Product"}, review])
    assert shop.is_product
    assert shop.authors(are_people=True) == []
    assert Graph([review]).authors(are_people=True) == ["Bo"]


def test_an_article_about_a_product_is_no_product() -> None:
    assert not Graph([{"@type": "Product"}, {"@type": "Article"}]).is_product
