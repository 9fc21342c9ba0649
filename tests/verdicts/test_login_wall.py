"""tests.verdicts.test_login_wall"""

import pytest

from cinder.verdicts.login_wall import find_login_signs
from tests.verdicts.readings import STORY, reading

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
        "<h1>Join</h1><a>Sign up with Google</a><a>Create account</a><p>Already on Pins? Go on</p>",
    ],
)
def test_a_page_that_only_asks_to_log_in_is_a_wall(html: str) -> None:
    assert find_login_signs(reading(html))


def test_a_redirect_to_a_login_page_is_a_wall() -> None:
    html = "<title>Sign in to your account</title><input type='email'><button>Next</button>"
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
