"""tests.verdicts.test_paywall"""

import pytest

from cinder.models.document import Json, PageMetadata
from cinder.verdicts.paywall import find_paywall_signs
from tests.verdicts.readings import STORY, reading


def sold(selector: str = ".paid") -> PageMetadata:
    part: Json = {"isAccessibleForFree": "False", "cssSelector": selector}
    return PageMetadata(
        json_ld=({"@type": "Article", "isAccessibleForFree": False, "hasPart": part},)
    )


@pytest.mark.parametrize(
    "stop",
    [
        "Subscribe to continue reading",
        "This article is for paying subscribers",
        "You have reached your limit of free articles",
        "Jetzt weiterlesen mit Plus",
        "La suite est réservée aux abonnés",
        "Contenido exclusivo para suscriptores",
        "この記事は有料会員限定です",
    ],
)
def test_a_teaser_with_a_stop_is_a_paywall(stop: str) -> None:
    assert find_paywall_signs(reading(f"<h1>The quay</h1><p>{STORY}</p><div>{stop}</div>"))


def test_a_teaser_that_says_it_is_not_free_is_a_paywall() -> None:
    html = f"<h1>The quay</h1><p>{STORY}</p><div class='paid'></div>"
    assert find_paywall_signs(reading(html, metadata=sold()))
    assert find_paywall_signs(reading(html)) is None


def test_a_page_that_is_not_free_and_there_in_full_is_not_a_paywall() -> None:
    whole = f"<h1>The quay</h1><div class='paid'><p>{STORY * 4}</p></div>"
    assert find_paywall_signs(reading(whole, metadata=sold())) is None
    long = f"<h1>The quay</h1><p>{STORY * 30}</p>"
    assert find_paywall_signs(reading(long, metadata=sold("main"))) is None


def test_a_teaser_among_much_else_is_a_paywall_if_the_page_says_that_it_is_sold() -> None:
    others = f"<aside><p>{STORY * 30}</p></aside><p>Subscribe to continue reading</p>"
    html = f"<h1>The quay</h1><p>{STORY}</p>{others}"
    assert find_paywall_signs(reading(html, metadata=sold(), word_count=60))
    assert find_paywall_signs(reading(html, metadata=sold(), word_count=600)) is None
    assert find_paywall_signs(reading(html, word_count=60)) is None


@pytest.mark.parametrize(
    "html",
    [
        f"<h1>Paywalls</h1><p>'Subscribe to continue reading', it says.</p><p>{STORY * 9}</p>",
        f"<h1>The quay</h1><p>{STORY * 2}</p><p>Subscribe to our newsletter</p>",
        f"<h1>The quay</h1><p>{STORY}</p><p>Subscribe now to keep reading and get it all.</p>",
        f"<h1>Offers</h1><p>{STORY}</p><p>Already a subscriber? Log in</p>",
    ],
    ids=["article", "newsletter", "archive", "offers"],
)
def test_a_page_that_speaks_of_subscriptions_is_not_a_paywall(html: str) -> None:
    assert find_paywall_signs(reading(html)) is None
