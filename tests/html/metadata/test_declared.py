"""The elements by which a page declares what it is."""

import pytest

from cinder.html.metadata.declared import (
    MAX_JSON_LD_CHARS,
    MAX_JSON_LD_OBJECTS,
    MAX_JSON_LD_SCRIPTS,
    MAX_META_TAGS,
    MAX_VALUE_CHARS,
    DeclaredMetadata,
    SchemaOrgGraph,
    read_declared,
    read_json_ld,
    truncation_warnings,
)
from cinder.html.metadata.page_metadata import read_metadata
from cinder.html.tree import Elements, parse_html
from cinder.models.document import Json


def test_the_article_counts_more_than_the_page() -> None:
    graph = SchemaOrgGraph(
        [{"@type": "WebPage", "headline": "Page"}, {"@type": ["NewsArticle"], "headline": "Work"}]
    )
    assert list(graph.texts("headline")) == ["Work", "Page"]


def test_a_page_that_lists_many_works_is_none_of_them() -> None:
    posts = [{"@type": "BlogPosting", "headline": f"Post {number}"} for number in range(9)]
    assert list(SchemaOrgGraph(posts).texts("headline")) == []


def test_the_keys_asked_for_first_count_most() -> None:
    graph = SchemaOrgGraph([{"@type": "Article", "dateCreated": "1", "datePublished": "2"}])
    assert list(graph.texts("datePublished", "dateCreated")) == ["2", "1"]


def test_escapes_of_html_are_undone() -> None:
    graph = SchemaOrgGraph(
        [{"@type": "Article", "headline": "Ash &amp; oak", "author": "Bo &amp; Al"}]
    )
    assert list(graph.texts("headline")) == ["Ash & oak"]
    assert graph.authors(are_people=True) == ["Bo & Al"]


def test_people_are_told_from_organisations_by_what_they_refer_to() -> None:
    graph = SchemaOrgGraph(
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
    graph = SchemaOrgGraph([{"@type": "Article", "author": {"@id": "#a"}}, person])
    assert graph.authors(are_people=True) == []


def test_what_customers_say_of_a_product_is_not_the_page() -> None:
    review = {"@type": "Review", "author": "Bo"}
    shop = SchemaOrgGraph([{"@type": "Product"}, review])
    assert shop.is_product
    assert shop.authors(are_people=True) == []
    assert SchemaOrgGraph([review]).authors(are_people=True) == ["Bo"]


def test_an_article_about_a_product_is_no_product() -> None:
    assert not SchemaOrgGraph([{"@type": "Product"}, {"@type": "Article"}]).is_product


def script(json: str) -> str:
    return f'<script type="application/ld+json">{json}</script>'


def cuts_of(html: str) -> tuple[str, ...]:
    elements = Elements.of_page(parse_html(html))
    return truncation_warnings(html, elements, read_metadata(elements, None))


@pytest.mark.parametrize(
    ("html", "word"),
    [
        ("<meta name=a content=b>" * (MAX_META_TAGS + 1), "meta tags"),
        (script('{"a":1}') * (MAX_JSON_LD_SCRIPTS + 1), "JSON-LD"),
        (script('{"a":"' + "b" * MAX_JSON_LD_CHARS + '"}'), "JSON-LD"),
        (script("[" + "{}," * MAX_JSON_LD_OBJECTS + "{}]"), "JSON-LD"),
        ("<title>" + "b" * (MAX_VALUE_CHARS + 1) + "</title>", "characters was cut"),
    ],
)
def test_metadata_that_a_limit_leaves_out_is_told_of(html: str, word: str) -> None:
    (cut,) = cuts_of(html)
    assert word in cut


@pytest.mark.parametrize(
    "html",
    [
        "<title>t</title>",
        "<meta name=a content=b>" * MAX_META_TAGS,
        script('{"a":1}') * MAX_JSON_LD_SCRIPTS,
        script("{}") + "x" * MAX_JSON_LD_CHARS,
        "<script>" + '"application/ld+json"' * 100 + "</script>",
    ],
)
def test_metadata_within_the_limits_is_not(html: str) -> None:
    assert cuts_of(html) == ()


def json_ld_of(text: str) -> tuple[dict[str, Json], ...]:
    html = f'<script type="application/ld+json">{text}</script>'
    return read_json_ld(parse_html(html).css("script"))


def test_lists_and_graphs_are_flattened() -> None:
    assert json_ld_of('[{"a": 1}, {"@graph": [{"b": 2}, {"c": 3}, "text"]}]') == (
        {"a": 1},
        {"b": 2},
        {"c": 3},
    )


def test_wrappers_and_raw_line_breaks_are_forgiven() -> None:
    assert json_ld_of('//<![CDATA[\n{"a": "x\ny"};\n//]]>') == ({"a": "x\ny"},)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": }',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": ' + "9" * 10_000 + "}",
        '{"a":' * 20_000 + "1" + "}" * 20_000,
        '{"a":' * 40 + "1" + "}" * 40,
        "[" * 1_000_000,
        "",
    ],
)
def test_what_cannot_be_read_is_skipped(text: str) -> None:
    assert json_ld_of(text) == ()


def test_a_lone_surrogate_is_replaced() -> None:
    assert json_ld_of('{"a": "\\ud800"}') == ({"a": "?"},)


def declared_of(html: str) -> DeclaredMetadata:
    return read_declared(Elements.of_page(parse_html(html)))


def test_the_title_of_a_drawing_is_not_the_pages() -> None:
    assert declared_of("<svg><title>Logo</title></svg>").title == ""
    assert declared_of("<title> The\n page </title><svg><title>Logo").title == "The page"


def test_the_first_meta_tag_of_a_name_counts() -> None:
    found = declared_of(
        "<meta name=Description content=a><meta property=description content=b><meta name=x>"
        '<meta itemprop="dateCreated datePublished" content=c>'
    )
    assert found.meta == {"description": "a", "datecreated": "c", "datepublished": "c"}


def test_all_the_authors_of_a_paper_are_kept() -> None:
    found = declared_of(
        '<meta name=citation_author content="Oak, Ada">'
        '<meta name=citation_author content="Elm, Bo">'
    )
    assert found.meta == {"citation_author": "Oak, Ada; Elm, Bo"}


def test_headings_scripts_and_the_canonical_address_are_found() -> None:
    found = declared_of(
        "<link rel=Canonical href=/a><link rel=canonical href=/b><h1>x</h1><h1>y</h1>"
        "<script type=Application/LD+json>{}</script><script>z</script>"
    )
    assert found.canonical == "/a"
    assert [heading.text() for heading in found.headings] == ["x", "y"]
    assert [script.text() for script in found.scripts] == ["{}"]
