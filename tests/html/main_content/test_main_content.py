"""Which part of a page is its main content."""

import pytest

from cinder.html.main_content import ContentHead, MainContent, keep_main_content
from cinder.html.main_content.features import read_hints
from cinder.html.main_content.scorer import shipped_scorer
from cinder.html.tree import parse_html
from cinder.html.visible_text import visible_text
from cinder.models.document import PageMetadata

PROSE = "<p>" + "A sentence of the story, long enough to count. " * 10 + "</p>"
LINKS = "<ul>" + "<li><a href=/x>A link to somewhere else</a></li>" * 10 + "</ul>"

ARTICLE = "<!-- og:type -->"


def main_content(html: str, title: str = "", *images: str) -> MainContent:
    tree = parse_html(html)
    body = tree.css("body")[0]
    metadata = PageMetadata(open_graph={"og:type": "article"} if "og:type" in html else {})
    hints = read_hints(tree, metadata, "https://site.test/story")
    head = ContentHead(title, images, site_names={"ember"})
    return keep_main_content(body, hints, shipped_scorer(), head)


def main_text(html: str, title: str = "") -> str:
    return visible_text(main_content(html, title).root)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<article>", "</article>"),
        ("<main>", "</main>"),
        ("<div role=main>", "</div>"),
        ("<div itemprop=articleBody>", "</div>"),
        ("<div><div>", "</div></div>"),
    ],
)
def test_the_story_is_found_between_the_links(opening: str, closing: str) -> None:
    html = f"<div>{LINKS}</div>{opening}<h1>Title</h1>{PROSE}{closing}<div>{LINKS}</div>"
    text = main_text(html, "Title")
    assert text.startswith("Title\nA sentence")
    assert "somewhere else" not in text


def test_named_boilerplate_inside_the_story_is_removed() -> None:
    share = "<div class='post-share'>Share this with your friends</div>"
    assert "friends" not in main_text(f"<article>{PROSE}{share}{PROSE}</article>")


def test_a_list_of_articles_is_kept_together() -> None:
    articles = "".join(f"<article><h2>Story {n}</h2>{PROSE}</article>" for n in range(4))
    text = main_text(f"<div>{LINKS}</div><section>{articles}</section>")
    assert all(f"Story {n}" in text for n in range(4))


def test_a_small_article_does_not_hide_a_large_page() -> None:
    assert "sentence" in main_text(f"<article>Teaser</article>{PROSE * 3}")


@pytest.mark.parametrize("html", ["", "plain text", LINKS, "<p>only one paragraph</p>", "<img>"])
def test_a_page_in_which_nothing_stands_out_is_kept_whole(html: str) -> None:
    assert main_text(html) == visible_text(parse_html(html).css("body")[0])


def test_the_title_comes_first_and_once() -> None:
    banner = "<header><h1>The <code>title</code></h1></header>"
    copies = "<div class=crumbs>The title</div><h2>The title ¶</h2>"
    html = main_content(f"{banner}<article>{copies}{PROSE}</article>", "The title").root.html or ""

    assert html.index("<div><h1>The <code>title</code></h1></div>") < html.index("A sentence")
    assert html.count("title") == 1


def test_a_page_that_does_not_show_its_title_begins_with_it_all_the_same() -> None:
    assert main_text(f"<article>{PROSE}</article>", "A title").startswith("A title\nA sentence")


def test_the_heading_that_the_content_begins_with_is_its_title() -> None:
    text = main_text(f"<article><h1>Another name</h1>{PROSE}</article>", "The title")

    assert text.startswith("Another name\nA sentence")
    assert "The title" not in text


@pytest.mark.parametrize(
    "heading",
    [
        "<h1><span>Oak</span> <span>and ash</span></h1>",
        "<h1><span>Oak</span>&nbsp;<b>and ash</b></h1>",
        "<h1>Oak<br>and ash</h1>",
        "<h1><div>Oak</div><div>and ash</div></h1>",
        "<h1><a href=/story>Oak and ash</a></h1>",
    ],
)
def test_the_words_of_a_title_stay_apart(heading: str) -> None:
    found = main_content(f"<header>{heading}</header><article>{PROSE}</article>", "Oak and ash")

    assert visible_text(found.root).split()[:3] == ["Oak", "and", "ash"]
    assert "<a " not in (found.root.html or "")


def test_the_only_h1_above_the_content_is_its_title_unless_it_names_the_site() -> None:
    page = f"<header><h1>{{}}</h1></header><article>{PROSE}</article>"

    assert main_text(page.format("Slogan"), "The title").startswith("Slogan\nA sentence")
    assert main_text(page.format("Ember"), "The title").startswith("The title\n")


def test_the_picture_that_the_page_names_stays() -> None:
    lead = "<figure><img src='/i/wildfire-300x200.jpg'><figcaption>A fire</figcaption></figure>"
    html = f"{ARTICLE}<nav>{LINKS}{lead}</nav><article>{PROSE * 3}</article>"

    found = main_content(html, "Fire", "https://site.test/i/wildfire.jpg").root.html or ""
    assert found.index("<h1>") < found.index("wildfire-300x200.jpg") < found.index("A sentence")
    assert "A fire" in found
    assert "somewhere else" not in found


def test_footnotes_that_the_content_refers_to_are_kept() -> None:
    mark = "<p>A claim that needs a source.<sup><a href='#n1'>[1]</a></sup></p>"
    notes = "<div class=footer><p id=n1>The source.</p><p id=n2>Another one.</p></div>"
    text = main_text(f"<article>{PROSE}{mark}</article>{PROSE.replace('p>', 'aside>')}{notes}")

    assert "The source." in text
    assert "Another one." not in text


def test_the_share_that_is_kept_is_known() -> None:
    assert main_content(f"<article>{PROSE}</article><nav>{LINKS}</nav>").kept_share == 1.0
    others = "<div class=teasers>" + "<p><a href=x>Some other story</a></p>" * 200 + "</div>"
    assert main_content(f"{ARTICLE}<article>{PROSE * 2}</article>{others}").kept_share < 0.5
