import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cinder.app.browser import open_browsers
from cinder.app.composition import make_proxy
from cinder.browser.identity import CallerHeaders, IdentitySettings, choose_identity, write_locale
from cinder.errors import ScrapeFailed, SettingsError
from cinder.fetch.base import FileFound
from cinder.metrics import Metrics
from cinder.models.document import FetchedPage
from cinder.models.request import Format, ProxyTier
from tests.browser.conftest import RESOLVER, Visitor, browser_settings, in_browser
from tests.site import Site

OWN = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/{}"
OWN_AGENT = OWN.format("141.0.7390.37 Safari/537.36")
WINDOWS_AGENT = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/130.0.0.0 Safari/537.36"


def agent_for(settings: IdentitySettings, *, is_mobile: bool = False) -> str:
    return choose_identity(
        settings, own_agent=OWN_AGENT, tier=ProxyTier.BASIC, is_mobile=is_mobile
    ).user_agent


# The choice


def test_the_browsers_own_agent_is_shown_without_its_head_missing() -> None:
    assert agent_for(IdentitySettings()) == (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
        "Chrome/141.0.0.0 Safari/537.36"
    )


def test_a_set_agent_is_shown_as_it_is() -> None:
    assert agent_for(IdentitySettings(user_agent="Me/1")) == "Me/1"


def test_each_of_several_agents_has_its_turn() -> None:
    settings = IdentitySettings(user_agent="A", user_agents=("B", "C"))
    assert {agent_for(settings) for _ in range(200)} == {"A", "B", "C"}


def test_a_phone_has_a_phones_agent_and_takes_only_a_phones_from_the_settings() -> None:
    assert agent_for(IdentitySettings(), is_mobile=True) == (
        "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) "
        "Chrome/141.0.0.0 Mobile Safari/537.36"
    )
    both = IdentitySettings(user_agent="Desk/1", user_agents=("Phone/1 Mobile",))
    assert agent_for(both, is_mobile=True) == "Phone/1 Mobile"


def test_the_stealth_script_belongs_to_the_stealth_tier() -> None:
    settings = IdentitySettings(stealth_script="1")
    scripts = {
        tier: choose_identity(settings, own_agent=OWN_AGENT, tier=tier, is_mobile=False).script
        for tier in (ProxyTier.BASIC, ProxyTier.STEALTH)
    }
    assert scripts == {ProxyTier.BASIC: None, ProxyTier.STEALTH: "1"}


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("en-US", "en_US"),
        ("en-us", "en_US"),
        ("de", "de"),
        ("pt_BR", "pt_BR"),
        ("zh-hant-tw", "zh_Hant_TW"),
        ("es-419", "es_419"),
    ],
)
def test_a_locale_is_written_as_chromium_takes_it(given: str, written: str) -> None:
    assert write_locale(given) == written


@pytest.mark.parametrize("locale", ["", "english", "en-", "en-USA", "../x", "en US"])
def test_what_is_no_locale_is_refused_by_the_name_of_its_setting(locale: str) -> None:
    with pytest.raises(ValueError, match=r"^browser\.locale: "):
        IdentitySettings(locale=locale)


@pytest.mark.parametrize("zone", ["Europe/", "Mars Base", "a/../b"])
def test_what_is_no_time_zone_is_refused_by_the_name_of_its_setting(zone: str) -> None:
    with pytest.raises(ValueError, match=r"^browser\.timezone-id: "):
        IdentitySettings(timezone_id=zone)


# What sites see


def facts_on(page: FetchedPage) -> dict[str, Any]:
    """Return what a page's script found out. Any: whatever browsers tell."""
    text = page.body.decode().partition('id="facts">')[2].partition("</pre>")[0]
    facts: dict[str, Any] = json.loads(text.replace("&amp;", "&"))
    return facts


OpenVisitor = Callable[..., AbstractAsyncContextManager[Visitor]]


@pytest.fixture
def open_visitor(website: Site, tmp_path: Path) -> OpenVisitor:
    """Open browsers of its own, with settings of their own, for a visitor."""

    @asynccontextmanager
    async def opened(**browser: object) -> AsyncIterator[Visitor]:
        settings = browser_settings(tmp_path, **browser)
        async with (
            make_proxy(settings, RESOLVER) as proxy,
            open_browsers(settings, proxy, Metrics()) as parts,
        ):
            yield Visitor(website, parts)

    return opened


@in_browser
@pytest.mark.parametrize("tier", [ProxyTier.BASIC, ProxyTier.STEALTH])
@pytest.mark.parametrize("mobile", [False, True])
async def test_nothing_says_that_the_browser_is_headless(
    visitor: Visitor, website: Site, tier: ProxyTier, mobile: bool
) -> None:
    page = await visitor.visit("/who-am-i", proxy=tier, mobile=mobile)
    facts = facts_on(page)
    headers = website.pages.headers["/who-am-i"]
    assert "headless" not in json.dumps([facts, headers]).lower()
    assert facts["userAgent"] == headers["user-agent"]
    assert facts["webdriver"] is False
    assert facts["languages"] == ["en-US", "en"]
    assert headers["accept-language"] == "en-US,en;q=0.9"


@in_browser
async def test_client_hints_tell_the_same_as_the_agent(visitor: Visitor) -> None:
    facts = facts_on(await visitor.visit("/who-am-i", headers={"User-Agent": WINDOWS_AGENT}))
    assert facts["userAgent"] == WINDOWS_AGENT
    assert facts["platform"] == "Win32"


@in_browser
async def test_a_phone_has_a_phones_screen(visitor: Visitor) -> None:
    facts = facts_on(await visitor.visit("/who-am-i", mobile=True))
    assert "Android" in facts["userAgent"]
    assert (facts["touch"], facts["platform"]) == (True, "Linux armv81")


@in_browser
async def test_a_callers_agent_and_languages_are_shown(visitor: Visitor, website: Site) -> None:
    page = await visitor.visit(
        "/who-am-i", headers={"User-Agent": "Me/1", "Accept-Language": "de-AT,de"}
    )
    headers = website.pages.headers["/who-am-i"]
    assert (headers["user-agent"], headers["accept-language"]) == ("Me/1", "de-AT,de;q=0.9")
    facts = facts_on(page)
    assert (facts["userAgent"], facts["languages"]) == ("Me/1", ["de-AT", "de"])
    assert not [name for name in headers if name.startswith("sec-ch-ua")]


@in_browser
async def test_the_settings_choose_place_languages_and_headers(
    open_visitor: OpenVisitor, website: Site
) -> None:
    async with open_visitor(
        user_agent="Me/2",
        accept_language="de-DE,de",
        locale="de-de",
        timezone_id="Asia/Tokyo",
        extra_headers={"X-From": "cinder"},
    ) as visitor:
        facts = facts_on(await visitor.visit("/who-am-i"))
    headers = website.pages.headers["/who-am-i"]
    assert (headers["user-agent"], headers["x-from"]) == ("Me/2", "cinder")
    assert (facts["languages"], facts["locale"], facts["timeZone"]) == (
        ["de-DE", "de"],
        "de-DE",
        "Asia/Tokyo",
    )


@in_browser
async def test_a_time_zone_that_does_not_exist_is_named_in_the_error(
    open_visitor: OpenVisitor,
) -> None:
    async with open_visitor(timezone_id="Mars/Base") as visitor:
        with pytest.raises(ScrapeFailed, match="Mars/Base"):
            await visitor.visit("/article")


@in_browser
async def test_a_locale_that_is_none_keeps_cinder_from_starting(open_visitor: OpenVisitor) -> None:
    with pytest.raises(SettingsError, match=r"browser\.locale"):
        async with open_visitor(locale="english"):
            pass


# Stealth


@in_browser
async def test_the_stealth_tier_hides_the_marks_of_a_headless_browser(visitor: Visitor) -> None:
    facts = facts_on(await visitor.visit("/who-am-i", proxy=ProxyTier.STEALTH))
    assert (facts["webdriver"], facts["hasChrome"], facts["plugins"] > 0) == (False, "object", True)


@in_browser
async def test_a_stealth_script_of_ones_own_runs_instead(
    open_visitor: OpenVisitor, tmp_path: Path
) -> None:
    script = tmp_path / "own.js"
    script.write_text("window.mark = 'mine'")
    async with open_visitor(stealth_script=str(script)) as visitor:
        stealthy = facts_on(await visitor.visit("/who-am-i", proxy=ProxyTier.STEALTH))
        plain = facts_on(await visitor.visit("/who-am-i"))
    assert (stealthy["mark"], plain["mark"]) == ("mine", None)


@in_browser
async def test_stealth_that_is_off_runs_no_script(
    open_visitor: OpenVisitor, tmp_path: Path
) -> None:
    script = tmp_path / "own.js"
    script.write_text("window.mark = 'mine'")
    async with open_visitor(stealth_script=str(script), stealth_enabled=False) as visitor:
        facts = facts_on(await visitor.visit("/who-am-i", proxy=ProxyTier.STEALTH))
    assert facts["mark"] is None


@in_browser
async def test_a_stealth_script_that_cannot_be_read_keeps_cinder_from_starting(
    open_visitor: OpenVisitor, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=r"browser\.stealth-script"):
        async with open_visitor(stealth_script=str(tmp_path / "nowhere.js")):
            pass


SECRETS = {"Authorization": "Bearer x", "X-Api-Key": "k", "Cookie": "a=b; c=d"}
OPEN = {"X-Requested-With": "us"}


def sent_to(site: Site, path: str) -> dict[str, str]:
    """Return what of a caller's headers arrived with the last request for a page."""
    return named_of(site.pages.headers[path])


def named_of(headers: Mapping[str, str]) -> dict[str, str]:
    names = {name.lower(): name for name in (*SECRETS, *OPEN)}
    return {names[name]: value for name, value in headers.items() if name in names}


def away(elsewhere: Site, path: str) -> str:
    return f"http://other.test:{elsewhere.port}{path}"


def test_headers_are_sorted_by_where_they_may_go() -> None:
    headers = CallerHeaders("https://site.test/", [*SECRETS.items(), *OPEN.items()])
    assert headers.open == OPEN


def test_the_agent_and_the_languages_are_part_of_the_identity() -> None:
    headers = CallerHeaders(
        "https://site.test/", [("user-agent", "Me/1"), ("Accept-Language", "de"), ("DNT", "1")]
    )
    assert (headers.user_agent, headers.accept_language) == ("Me/1", "de")
    assert headers.open == {"DNT": "1"}


@in_browser
async def test_a_callers_headers_go_to_the_page_and_to_what_it_loads_from_its_site(
    visitor: Visitor, website: Site, elsewhere: Site
) -> None:
    path = f"/framed?other={away(elsewhere, '')}"
    await visitor.visit(path, headers=SECRETS | OPEN)
    assert sent_to(website, "/framed") == SECRETS | OPEN
    assert sent_to(website, "/data") == SECRETS | OPEN


@in_browser
async def test_secrets_do_not_go_along_to_other_sites(visitor: Visitor, elsewhere: Site) -> None:
    await visitor.visit(
        f"/framed?other={away(elsewhere, '')}",
        headers=SECRETS | OPEN,
        screenshot=Format.SCREENSHOT,
    )
    for path in ("/image", "/script", "/article"):
        assert sent_to(elsewhere, path) == OPEN


@in_browser
@pytest.mark.parametrize("code", [302, 307])
async def test_secrets_do_not_follow_a_redirect_to_another_site(
    visitor: Visitor, website: Site, elsewhere: Site, code: int
) -> None:
    target = away(elsewhere, "/echo")
    page = await visitor.visit(f"/redirect?code={code}&to={target}", headers=SECRETS | OPEN)
    assert page.final_url == target
    assert sent_to(website, "/redirect") == SECRETS | OPEN
    assert sent_to(elsewhere, "/echo") == OPEN


@in_browser
async def test_secrets_follow_a_redirect_on_their_own_site(visitor: Visitor, website: Site) -> None:
    await visitor.visit("/redirect?to=/echo", headers=SECRETS | OPEN)
    assert sent_to(website, "/echo") == SECRETS | OPEN


@in_browser
async def test_what_a_page_loads_does_not_take_secrets_along_a_redirect(
    visitor: Visitor, website: Site, elsewhere: Site
) -> None:
    # The page asks its own site for a script, which sends it elsewhere.
    path = f"/framed?other=/redirect%3Fto%3D{away(elsewhere, '')}"
    await visitor.visit(path, headers=SECRETS | OPEN)
    assert sent_to(website, "/redirect") == SECRETS | OPEN
    assert sent_to(elsewhere, "/script") == OPEN


@in_browser
async def test_a_file_elsewhere_is_asked_for_at_home_first(
    visitor: Visitor, elsewhere: Site
) -> None:
    url = visitor.site.url(f"/redirect?to={away(elsewhere, '/image')}")
    with pytest.raises(FileFound) as found:
        await visitor.visit(url, headers=SECRETS)
    assert found.value.url == url


@in_browser
async def test_secrets_cost_a_page_that_never_answers_nothing_but_time(
    visitor: Visitor, website: Site
) -> None:
    async with asyncio.TaskGroup() as tasks:
        visit = tasks.create_task(visitor.visit("/silent", headers=SECRETS))
        await website.asked("/silent")
        website.release()
    assert visit.result().final_url == website.url("/silent")
