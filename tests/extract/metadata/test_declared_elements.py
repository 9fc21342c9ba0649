"""The elements by which a page declares what it is."""

from cinder.extract.elements import Elements
from cinder.extract.html_tree import parse_html
from cinder.extract.metadata.declared_elements import Declared, read_declared


def declared_of(html: str) -> Declared:
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
