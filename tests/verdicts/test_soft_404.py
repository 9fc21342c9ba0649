"""tests.verdicts.test_soft_404"""

import pytest

from cinder.verdicts.verdict import find_soft_404_signs
from tests.verdicts.readings import STORY, reading

FRONT = f"<title>The Courier</title><h1>Today</h1><p>{STORY}</p>"


@pytest.mark.parametrize(
    "html",
    [
        "<title>Page not found | The Site</title><p>Try the menu.</p>",
        "<title>The Site</title><h1>404</h1><p>Hm.</p>",
        "<h1>Oops!</h1><p>The page you are looking for does not exist.</p>",
        "<h1>This product is no longer available</h1><a>Kettles</a>",
        "<title>Seite nicht gefunden</title>",
        "<h1>Page introuvable</h1>",
        "<title>Страница не найдена</title>",
        "<title>ページが見つかりません</title>",
        "<title>500 Internal Server Error</title><h1>Internal Server Error</h1>",
        "<title>Lamps</title><h1>Something went wrong</h1><p>Try again.</p>",
        "<h1>Site under maintenance</h1>",
        "<h1>lamps.example</h1><p>This domain is for sale: $2,395</p>",
    ],
)
def test_a_page_that_stands_for_a_missing_one_is_told(html: str) -> None:
    assert find_soft_404_signs(reading(html))


def test_a_redirect_from_deep_in_a_site_to_its_front_page_is_told() -> None:
    asked = "https://a.example/2016/03/the-lighthouse.html"
    assert find_soft_404_signs(reading(FRONT, asked=asked, final="https://www.a.example/"))
    assert find_soft_404_signs(reading(FRONT, asked=asked, final="https://www.a.example/en/"))


@pytest.mark.parametrize(
    ("asked", "final"),
    [
        ("https://a.example/index.html", "https://a.example/"),
        ("https://short.example/x/the-link", "https://a.example/"),
        ("https://a.example/news", "https://a.example/en/"),
        ("https://a.example/old/name-of-it", "https://a.example/new/name-of-it"),
    ],
)
def test_an_ordinary_redirect_is_no_absence(asked: str, final: str) -> None:
    assert find_soft_404_signs(reading(FRONT, asked=asked, final=final)) is None


def test_a_redirect_to_an_error_page_is_told() -> None:
    assert find_soft_404_signs(reading(FRONT, final="https://a.example/error/404.html"))


@pytest.mark.parametrize(
    "html",
    [
        f"<title>404 Not Found: a history</title><h1>404 Not Found</h1><p>{STORY * 12}</p>",
        f"<title>Teak bench</title><h1>Teak bench</h1><p>Out of stock. {STORY}</p>",
        "<title>Notes</title><p>The 404 page shows links to similar pages.</p>",
        "<title>Lost and found</title><h1>Lost and found</h1><p>A glove.</p>",
    ],
    ids=["article", "shop", "note", "office"],
)
def test_a_page_that_speaks_of_absence_is_a_page(html: str) -> None:
    assert find_soft_404_signs(reading(html)) is None


def test_a_search_without_results_is_an_answer() -> None:
    page = reading("<title>Nothing found</title>", asked="https://a.example/?q=zzz")
    assert find_soft_404_signs(page) is None


def test_a_page_that_explains_why_something_was_removed_is_a_page() -> None:
    html = f"<h1>The code</h1><p>In May this document has been removed. {STORY * 4}</p>"
    assert find_soft_404_signs(reading(html)) is None
