"""tests.verdicts.test_consent"""

import pytest

from cinder.verdicts.consent import find_consent_signs
from tests.verdicts.readings import STORY, reading

QUESTION = (
    "<div><h2>We value your privacy</h2><p>We and our partners use cookies and process personal "
    "data for personalised advertising.</p><button>Accept all</button></div>"
)


@pytest.mark.parametrize(
    "html",
    [
        QUESTION,
        "<h1>Datenschutz</h1><p>Wir verwenden Cookies. Sie können Ihre Zustimmung jederzeit "
        "widerrufen.</p><button>Alle akzeptieren</button><a>Impressum</a>",
        "<p>Avec votre accord, nos partenaires et nous utilisons des cookies.</p>"
        "<button>Accepter &amp; fermer</button>",
    ],
)
def test_a_page_that_only_asks_for_consent_is_told(html: str) -> None:
    assert find_consent_signs(reading(html))


def test_a_redirect_to_a_question_for_consent_is_told() -> None:
    html = f"{QUESTION}<p>{STORY * 4}</p>"
    final = "https://consent.a.example/collect"
    assert find_consent_signs(reading(html, final=final))
    assert find_consent_signs(reading(html)) is None


@pytest.mark.parametrize(
    "html",
    [
        f"{QUESTION}<nav>Home</nav><h1>The quay</h1><p>{STORY * 4}</p>",
        "<h1>Cookie policy</h1><p>This site sets one cookie, which remembers your basket.</p>",
        f"<h1>Cookies</h1><p>{STORY * 40} cookies</p><button>Accept all</button>",
    ],
    ids=["banner", "policy", "article"],
)
def test_a_page_that_speaks_of_cookies_is_a_page(html: str) -> None:
    assert find_consent_signs(reading(html)) is None
