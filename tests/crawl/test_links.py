"""Which links a crawl follows."""

import pytest

from cinder.crawl.links import MAX_LINKS, PageDirectives, choose_links, read_directives
from tests.crawl.reading import address_at

PAGE = address_at("https://e.com/page")


def test_links_are_addresses_each_once_without_the_page_itself() -> None:
    links = [
        "https://e.com/a?utm_source=x",
        "https://e.com/a",
        "https://e.com/page?gclid=1",
        "mailto:a@e.com",
        "https://b.com/",
    ]
    chosen = [address.url for address in choose_links(links, PAGE)]
    assert chosen == ["https://e.com/a", "https://b.com/"]


def test_no_more_links_than_the_limit_are_looked_at() -> None:
    links = (f"https://e.com/{number}" for number in range(MAX_LINKS + 10))
    assert len(choose_links(links, PAGE)) == MAX_LINKS


@pytest.mark.parametrize(
    ("meta", "header", "wish"),
    [
        (None, None, PageDirectives()),
        ("index, follow, max-snippet:-1", "", PageDirectives()),
        ("NoIndex", None, PageDirectives(may_keep=False)),
        ("noindex; nofollow", None, PageDirectives(may_follow=False, may_keep=False)),
        (None, "none", PageDirectives(may_follow=False, may_keep=False)),
        ("noindex", "nofollow", PageDirectives(may_follow=False, may_keep=False)),
        (None, "otherbot: noindex, nofollow", PageDirectives()),
        (None, "otherbot: noindex, cinder: nofollow", PageDirectives(may_follow=False)),
        (
            None,
            "unavailable_after: Wed, 25 Jun 2030 15:00:00 PST, noindex",
            PageDirectives(may_keep=False),
        ),
    ],
)
def test_a_page_says_what_robots_may_do(
    meta: str | None, header: str | None, wish: PageDirectives
) -> None:
    assert read_directives(meta, header) == wish
