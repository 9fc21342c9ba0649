"""tests.verdicts.test_blocked"""

import os
from collections.abc import Mapping

import pytest

from cinder.models.document import FetchedPage, FetchSource
from cinder.verdicts import blocked
from cinder.verdicts.evidence import PageEvidence

SENTENCE = "Cloudflare shows a page that says: verify you are human, before it lets a reader in. "


def page(
    body: str | bytes,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    content_type: str = "text/html",
) -> FetchedPage:
    return FetchedPage(
        url="https://a.example/",
        final_url="https://a.example/",
        status_code=status,
        headers={"content-type": content_type, **(headers or {})},
        body=body if isinstance(body, bytes) else body.encode(),
        source=FetchSource.NATIVE,
        strategy="native",
    )


def find_block_signs(answer: FetchedPage) -> str | None:
    return blocked.find_block_signs(PageEvidence(answer))


@pytest.mark.parametrize(
    ("vendor", "status", "body"),
    [
        (
            "Cloudflare",
            403,
            "<title>Just a moment...</title><script>window._cf_chl_opt={cvId:'3'};"
            "a.src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1'</script>",
        ),
        (
            "Cloudflare",
            403,
            '<title>Attention Required! | Cloudflare</title><h1 data-translate="block_headline">'
            "Sorry, you have been blocked</h1>",
        ),
        ("DataDome", 403, "<script src='https://ct.captcha-delivery.com/c.js'></script>"),
        ("HUMAN", 403, '<h1>Press & Hold</h1><div id="px-captcha"></div>'),
        (
            "Akamai",
            403,
            "<h1>Access Denied</h1>You don't have permission to access this server.<p>"
            "Reference&#32;&#35;18&#46;2d</p>",
        ),
        (
            "Imperva",
            200,
            "<iframe id='main-iframe' src='/_Incapsula_Resource?CWUDNSAI=24&xinfo=8'>Request "
            "unsuccessful. Incapsula incident ID: 1-2</iframe>",
        ),
        (
            "AWS WAF",
            202,
            "<script>window.gokuProps = {key: 'a'}</script><div id='challenge'></div>",
        ),
        (
            "F5",
            200,
            "<p>The requested URL was rejected. Please consult with your administrator.</p>",
        ),
        ("Cloudflare", 403, "<script src='/cdn-cgi/challenge-platform/h/g/orchestrate/jsch/v1'>"),
        ("HUMAN", 200, "<script src='https://captcha.px-cdn.net/PX1/captcha.js'></script>"),
        ("DataDome", 403, "<script>var dd={'host':'geo.captcha-delivery.com'}</script>"),
        ("Imperva", 403, "<iframe src='/_Incapsula_Resource?incident_id=1'></iframe>"),
        ("Kasada", 429, "<script>KPSDK.scriptStart = KPSDK.now();</script>"),
        ("hCaptcha", 403, "<script src='https://js.hcaptcha.com/1/api.js'></script>"),
        ("Sucuri", 403, "<title>Sucuri WebSite Firewall - Access Denied</title>"),
        ("Anubis", 200, "<script id=\"anubis_challenge\" type='application/json'>{}</script>"),
        (
            "Google",
            429,
            "<p>Our systems have detected unusual traffic from your computer network.</p>",
        ),
    ],
)
def test_the_walls_of_known_vendors_are_told_by_their_marks(
    vendor: str, status: int, body: str
) -> None:
    sign = find_block_signs(page(body, status))
    assert sign is not None
    assert f"{vendor}'s bot wall" in sign


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"cf-mitigated": "challenge"}, 403),
        ({"x-amzn-waf-action": "captcha"}, 405),
        ({"x-vercel-mitigated": "challenge"}, 429),
        ({"x-datadome": "protected"}, 403),
        ({"x-kpsdk-ct": "0a"}, 429),
        ({"server": "AkamaiGHost"}, 403),
        ({"set-cookie": "datadome=a1; Path=/"}, 403),
        ({}, 999),
    ],
)
def test_a_wall_is_told_by_its_headers(headers: dict[str, str], status: int) -> None:
    assert find_block_signs(page("<p>No.</p>", status, headers))


def test_a_header_of_a_guarded_site_counts_with_a_refusal_only() -> None:
    assert find_block_signs(page("<p>Yes.</p>", 200, {"x-datadome": "protected"})) is None
    assert find_block_signs(page("<p>Gone.</p>", 404, {"x-datadome": "protected"})) is None
    cookie = {"set-cookie": "_abck=1; Path=/"}
    assert find_block_signs(page("<p>Yes.</p>", 200, cookie)) is None
    assert find_block_signs(page(f"<p>{'A long word. ' * 30}</p>", 403, cookie)) is None


@pytest.mark.parametrize(
    "body",
    [
        "<h1>Verify you are human</h1><p>It takes a second.</p>",
        "<title>Making sure you're not a bot!</title><p>One moment.</p>",
        "<p>Checking your browser before accessing a.example.</p>",
        "<p>Access to this page has been denied because we believe you use automation tools.</p>",
        "<form><input type='hidden'><div class='g-recaptcha'></div><input type='submit'></form>",
        "<p>You are temporarily blocked. Try again later.</p>",
        "<main><iframe title='Challenge' src='/captcha?id=1'></iframe></main>",
        f"<h1>Verify you are human</h1><div hidden><p>{SENTENCE * 99}</p></div>",
        "<p>Are you there?</p><div class='box cf-turnstile' data-sitekey='1'></div>",
    ],
)
def test_a_wall_of_no_known_vendor_is_told_by_what_it_says(body: str) -> None:
    assert find_block_signs(page(body))


@pytest.mark.parametrize(
    "body",
    [
        f"<article><p>{SENTENCE * 40}</p><code>_cf_chl_opt captcha-delivery.com/</code>",
        "<form><input type='email'><input type='password'><div class='g-recaptcha'></div></form>",
        "<form><textarea name='message'></textarea><div class='h-captcha'></div></form>",
        "<p>Hello.</p><script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>",
        "<div id='root'></div><script>let captcha = 'challenges.cloudflare.com/turnstile'</script>",
        "<script>window._pxAppId = 'PX1'</script><p>A shop.</p>",
        "<p>Your IP address is 127.0.0.1.</p>",
        "<p>Example Domain</p>",
        "",
    ],
    ids=["article", "login", "form", "guarded", "shell", "sensor", "address", "small", "empty"],
)
def test_a_page_is_not_a_wall(body: str) -> None:
    assert find_block_signs(page(body)) is None


@pytest.mark.parametrize(
    "words",
    [
        "Errar es humano.",
        "Report suspicious activity to the police.",
        "Real people, not bots.",
        "Solve the puzzle.",
    ],
)
def test_a_page_that_speaks_of_people_and_bots_is_a_wall_with_a_second_sign_only(
    words: str,
) -> None:
    assert find_block_signs(page(f"<p>{words}</p>")) is None
    assert find_block_signs(page(f"<p>{words}</p><p>Checking your browser.</p>"))
    assert find_block_signs(page(f"<p>{words}</p>{'<p>A word.</p>' * 25}<i class='h-captcha'></i>"))


def test_unusual_activity_is_a_wall_where_it_is_the_visitors_own() -> None:
    assert find_block_signs(page("<p>We saw unusual traffic coming from your network.</p>"))
    assert find_block_signs(page("<p>We saw unusual traffic on the coast road.</p>")) is None


def test_the_name_of_a_gate_needs_something_said_to_the_visitor_beside_it() -> None:
    name = "<title>Slow down</title>"
    assert find_block_signs(page(f"{name}<p>A song.</p>")) is None
    assert find_block_signs(page(f"{name}<p>You have sent too many requests.</p>"))


def test_the_script_of_a_guard_is_a_wall_where_there_is_nothing_to_read() -> None:
    script = "<script src='/TSPD/1?type=7'></script>"
    assert find_block_signs(page(script))
    assert find_block_signs(page(f"{script}{'<p>A word.</p>' * 25}")) is None


@pytest.mark.parametrize("status", [401, 403, 429, 503])
def test_a_bare_refusal_is_not_a_wall(status: int) -> None:
    assert find_block_signs(page("<h1>Forbidden</h1><hr>nginx", status)) is None


def test_a_wall_in_plain_text_counts_with_an_error_only() -> None:
    body = "error code: 1020"
    assert find_block_signs(page(body, 403, content_type="text/plain"))
    assert find_block_signs(page(body, 200, content_type="text/plain")) is None


@pytest.mark.parametrize(
    "body", [b"<" * 200_000, b"<input " * 50_000, b" class=" * 50_000, os.urandom(200_000)]
)
def test_hostile_bytes_are_judged_without_an_error(body: bytes) -> None:
    find_block_signs(page(body, 403))
