"""Which part of a page is its main content."""

import pytest

from cinder.html.main_content import keep_main_content
from cinder.html.main_content.features import read_hints
from cinder.html.main_content.scorer import shipped_scorer
from cinder.html.tree import parse_html
from cinder.html.visible_text import visible_text
from cinder.models.document import PageMetadata

PROSE = "<p>" + "A sentence of the story, long enough to count. " * 10 + "</p>"
LINKS = "<ul>" + "<li><a href=/x>A link to somewhere else</a></li>" * 10 + "</ul>"


def main_text(html: str) -> str:
    tree = parse_html(html)
    body = tree.css("body")[0]
    hints = read_hints(tree, PageMetadata(), "https://site.test/story")
    return visible_text(keep_main_content(body, hints, shipped_scorer()))


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
    text = main_text(f"<div>{LINKS}</div>{opening}<h1>Title</h1>{PROSE}{closing}<div>{LINKS}</div>")
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
