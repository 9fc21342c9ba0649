"""tests.verdicts.test_walls"""

import pytest

from cinder.models.document import Json, PageMetadata
from cinder.verdicts.walls import find_consent_signs, find_login_signs, find_paywall_signs
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


@pytest.mark.parametrize(
    "html",
    [
        "<title>Before you continue to Lamps</title><p>We use cookies to measure engagement.</p>"
        f"<p>{STORY}</p><form><input type='submit' value='Reject all'>"
        "<input type='submit' value='Accept all'></form><a>More options</a>",
        "<h1>Bevor Sie zu Lampen weitergehen</h1><p>Wir verwenden Cookies und Daten dazu.</p>"
        f"<p>{STORY}</p><button>Alle ablehnen</button><button>Alle akzeptieren</button>",
    ],
)
def test_the_question_of_a_portal_is_told_by_its_title_and_choices(html: str) -> None:
    assert find_consent_signs(reading(html))


@pytest.mark.parametrize(
    "html",
    [
        "<h1>Welcome</h1><p>You must be 21 or older to enter this site.</p>"
        "<button>Yes, I am</button><button>No</button>",
        "<h1>Age verification</h1><label>Year of birth</label><input><button>Enter</button>",
        "<p>Sind Sie mindestens 18 Jahre alt?</p><a href='/in'>Ja</a><a href='/out'>Nein</a>",
        "<p>あなたは18歳以上ですか?</p><a>はい</a><a>いいえ</a>",
    ],
)
def test_a_page_that_only_asks_for_an_age_is_told(html: str) -> None:
    assert "age" in (find_consent_signs(reading(html)) or "")


@pytest.mark.parametrize(
    "html",
    [
        f"<h1>Old gin</h1><p>{STORY * 6}</p><p>You must be 18 to buy it.</p><button>Enter</button>",
        "<h1>Volunteers</h1><p>Volunteers must be over 18.</p><a>Write to us</a>",
    ],
    ids=["shop", "no answer"],
)
def test_a_page_that_speaks_of_an_age_is_a_page(html: str) -> None:
    assert find_consent_signs(reading(html)) is None


FORM = "<form><input name='user'><input type='password' name='p'><button>Log in</button></form>"


@pytest.mark.parametrize(
    "html",
    [
        f"<title>Sign in</title><h1>Sign in</h1>{FORM}",
        f"<title>The club</title><p>You must be logged in to view this page.</p>{FORM}",
        "<h1>Minutes</h1><p>Please <a href='/login'>log in</a> to view this page.</p>",
        "<h1>Protokoll</h1><p>Bitte melden Sie sich an, um diese Seite zu sehen.</p>",
        "<p>Vous devez être connecté pour accéder à cette page.</p>",
        "<p>请先登录后查看</p>",
        "<title>Sign in to your account</title><input type='email'><button>Next</button>",
        "<h1>Log in</h1><form><input id='identifier' autocomplete='username'></form>",
        "<h1>Log in to Boards</h1><button>Continue with Google</button>",
        "<h1>Welcome to Graphs</h1><a href='/oauth'>Sign in with dex</a>",
        "<main>This record isn't available because you don't have permission.</main>",
        f"<h1>The portal</h1><p>{STORY}</p>{FORM}<a>Forgot password?</a>",
        "<h1>Join</h1><a>Sign up with Google</a><a>Create account</a><p>Already on Pins? Go on</p>",
    ],
)
def test_a_page_that_only_asks_to_log_in_is_a_wall(html: str) -> None:
    assert find_login_signs(reading(html))


def test_a_redirect_to_a_login_page_is_a_wall() -> None:
    html = "<title>Sign in to your account</title><button>Use a key</button>"
    asked, final = "https://a.example/report", "https://login.b.example/oauth2/authorize"
    assert find_login_signs(reading(html, asked=asked, final=final))
    assert find_login_signs(reading(html, asked=asked)) is None


@pytest.mark.parametrize(
    "html",
    [
        f"<header>{FORM}</header><h1>Spring concert</h1><p>{STORY * 3}</p>",
        f"<h1>I cannot log in</h1><p>The page says that you must log in to go on. {STORY * 3}</p>",
        f"<nav><a>Log in</a><a>Sign up</a></nav><h1>The quay</h1><p>{STORY}</p>",
        "<div id='app'></div><form style='display: none'><input type='password'></form>",
        "<p>You can now log in with a passkey.</p>",
    ],
    ids=["header", "help", "links", "hidden", "note"],
)
def test_a_page_on_which_one_can_log_in_is_not_a_wall(html: str) -> None:
    assert find_login_signs(reading(html)) is None


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
