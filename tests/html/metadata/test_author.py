"""Who wrote a page."""

import json

import pytest

from cinder.html.metadata.page_metadata import read_metadata
from cinder.html.tree import Elements, document_base, parse_html
from cinder.models.document import Json


def author_of(html: str, *json_ld: Json) -> str | None:
    scripts = "".join(
        f'<script type="application/ld+json">{json.dumps(each)}</script>' for each in json_ld
    )
    tree = parse_html(scripts + html)
    return read_metadata(
        Elements.of_page(tree), document_base(tree, "https://ember.example/fires")
    ).author


ADA: Json = {"@type": "Person", "name": "Ada Oak"}
EMBER: Json = {"@type": "Organization", "name": "Ember"}


def test_the_author_of_the_article_is_found_through_the_graph() -> None:
    graph: Json = {
        "@graph": [
            {"@type": "Article", "author": {"@id": "#ada"}},
            {"@type": "Person", "@id": "#ada", "name": "Ada Oak"},
        ]
    }
    assert author_of("", graph) == "Ada Oak"


def test_several_authors_are_joined() -> None:
    assert author_of("", {"@type": "NewsArticle", "author": [ADA, {"name": "Bo Elm"}]}) == (
        "Ada Oak, Bo Elm"
    )
    byline = "<h1>Fires</h1><p>By <a rel=author>Ada Oak</a> and <a rel=author>Bo Elm</a></p>"
    assert author_of(byline) == "Ada Oak, Bo Elm"


def test_a_person_on_the_page_comes_before_its_publisher() -> None:
    article: Json = {"@type": "Article", "author": EMBER}
    assert author_of("<h1>Fires</h1><span class=author-name>Ada Oak</span>", article) == "Ada Oak"
    assert author_of("<h1>Fires</h1>", article) == "Ember"
    meta = '<meta property="og:site_name" content="Ember"><meta name=author content=Ember>'
    assert author_of(meta + "<h1>Fires</h1><p class=byline>by Ada Oak") == "Ada Oak"
    assert author_of(meta) == "Ember"


@pytest.mark.parametrize(
    "html",
    [
        '<meta name=author content="By Ada Oak">',
        '<meta name="twitter:label1" content="Written by"><meta name="twitter:data1" '
        'content="Ada Oak">',
        '<meta name=citation_author content="Oak, Ada">',
        "<h1>Fires</h1><div class='post-author'>Written by: <b>Ada Oak</b> on May 3, 2025</div>",
        "<h1>Fires</h1><div class='PostHeader_authorName__x1'>Ada Oak</div>",
        "<h1>Fires</h1><div itemprop=author><meta itemprop=name content='Ada Oak'>12 posts</div>",
        "<h1>Fires</h1><p>3 min read</p><p>By Ada Oak, forester</p>",
        "<h1>Fires</h1><p>By</p><p>Ada Oak</p>",
        "<h1>Feux</h1><p>Par Ada Oak</p>",
        "<h1>Feuer</h1><p class=author>Von Ada Oak</p>",
        "<h1>Fires</h1><a href=/authors/ada>Ada Oak</a>",
    ],
)
def test_each_way_of_naming_an_author_is_read(html: str) -> None:
    assert author_of(html) == "Ada Oak"


@pytest.mark.parametrize(
    "html",
    [
        "<meta name=author content=admin>",
        "<meta name=author content=https://example.com/ada>",
        "<meta name=author content=@ada>",
        "<meta name=author content=page.head.author>",
        "<h1>Fires</h1><div class=author-avatar>Ada Oak</div>",
        "<h1>Fires</h1><h2>Comments</h2><div class=comments><b class=author>Ada Oak</b></div>",
        "<h1>Fires</h1><h2>More</h2><div class=related><b class=author>Ada Oak</b></div>",
        "<h1>Fires</h1><p>by keeping the coals under ash</p>",
        '<meta property="og:type" content=product><meta name=author content="Ada Oak">',
    ],
)
def test_who_is_nobody_or_somebody_else_is_not_the_author(html: str) -> None:
    assert author_of(html) is None


def test_a_declared_name_may_begin_as_a_byline_does() -> None:
    assert author_of("<meta name=author content='Von Elm'>") == "Von Elm"


def test_the_first_to_post_is_the_author_of_a_thread() -> None:
    thread = (
        "<h1>Wet wood</h1><a class=username>Ada Oak</a>"
        "<h2>Replies</h2><article itemprop=comment><b itemprop=author>Bo Elm</b></article>"
    )
    assert author_of(thread) == "Ada Oak"
    question: Json = {
        "@type": "QAPage",
        "mainEntity": {"@type": "Question", "author": ADA, "suggestedAnswer": {"author": EMBER}},
    }
    assert author_of("", question) == "Ada Oak"
