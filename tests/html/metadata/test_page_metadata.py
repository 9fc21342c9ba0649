"""What a page says about itself."""

import json

from cinder.html.metadata.page_metadata import read_metadata
from cinder.html.tree import Elements, document_base, parse_html
from cinder.models.document import Json, PageMetadata

URL = "https://example.com/blog/post"


def metadata_of(html: str) -> PageMetadata:
    tree = parse_html(html)
    return read_metadata(Elements.of_page(tree), document_base(tree, URL))


def test_everything_a_page_says_is_read() -> None:
    article: Json = {
        "@type": "Article",
        "author": [{"name": "Ada"}, {"name": "Grace"}],
        "image": {"url": "/b.png"},
    }
    found = metadata_of(
        "<html lang=en><title> The\n title </title><meta name=description content=About>"
        '<link rel="canonical" href="/post"><meta property="og:site_name" content="Site">'
        '<meta property="og:image" content="/a.png"><meta name=keywords content="x, y,,x">'
        '<meta property="article:published_time" content="2025-11-15T18:30:00Z">'
        '<meta property="article:modified_time" content="Sat, 15 Nov 2025 19:00:00 GMT">'
        f'<script type="application/ld+json">{json.dumps(article)}</script>'
    )
    assert found == PageMetadata(
        title="The title",
        description="About",
        language="en",
        author="Ada, Grace",
        published="2025-11-15T18:30:00+00:00",
        modified="2025-11-15T19:00:00+00:00",
        canonical="https://example.com/post",
        site_name="Site",
        keywords=("x", "y"),
        images=("https://example.com/a.png", "https://example.com/b.png"),
        open_graph={"og:site_name": "Site", "og:image": "/a.png"},
        json_ld=(article,),
    )


def test_a_silent_page_has_empty_metadata() -> None:
    assert metadata_of("<p>x") == PageMetadata()


def test_the_title_is_what_one_would_cite() -> None:
    page = (
        "<title>Oak logs | Example</title><h1><span>Oak</span><br>logs</h1>"
        '<meta property="og:title" content="All about oak">'
    )
    assert metadata_of(page).title == "Oak logs"
    assert metadata_of("<title>Oak logs - Example</title>").title == "Oak logs"
    assert metadata_of("<h1>Oak<style>b {}</style></h1>").title == "Oak"


def test_json_ld_speaks_where_meta_tags_are_silent() -> None:
    works: Json = [
        {"@type": "Article", "description": "About", "keywords": ["x", "y"]},
        {"@type": "WebSite", "name": "Ember"},
    ]
    found = metadata_of(f'<script type="application/ld+json">{json.dumps(works)}</script>')
    assert (found.description, found.keywords, found.site_name) == ("About", ("x", "y"), "Ember")


def test_what_robots_are_asked_is_read_from_every_tag() -> None:
    page = '<meta name=ROBOTS content="noindex, max-snippet:5"><meta name=robots content=nofollow>'
    assert metadata_of(page).robots == "noindex, max-snippet:5; nofollow"


def test_the_canonical_address_must_be_a_web_address() -> None:
    assert metadata_of("<link rel=canonical href=javascript:x>").canonical is None


def test_the_base_element_moves_relative_addresses_only_if_it_is_a_web_address() -> None:
    link = "<link rel=canonical href=x>"
    moved = metadata_of(f"<base href=//other.org/d/>{link}")
    assert moved.canonical == "https://other.org/d/x"
    stayed = metadata_of(f"<base href='javascript:alert(1)//'>{link}")
    assert stayed.canonical == "https://example.com/blog/x"


def test_a_heading_that_links_to_another_page_is_a_banner() -> None:
    banner, rest = "<h1><a href=/>All about fires</a></h1>", "<h1>Subscribe</h1>"
    assert metadata_of(f"<title>Fires - a post</title>{banner}{rest}").title == "Fires - a post"
    own = "<h1><a href='/blog/post#top'>A post</a></h1>"
    assert metadata_of(f"<title>Fires - a post</title>{banner}{own}{rest}").title == "A post"
