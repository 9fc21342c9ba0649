
from dataclasses import replace

import pytest

from cinder.errors import ErrorCode, InvalidRequest
from cinder.fetch.base import FetchTask
from cinder.fetch.escalation import EngineStep, check_mode, plan_steps, reason_to_escalate
from cinder.models.document import FetchedPage, FetchSource
from cinder.models.request import (
    Action,
    ActionType,
    Format,
    Mode,
    Profile,
    ProxyTier,
    RenderOptions,
    ScrapeRequest,
)

TASK = FetchTask(url="https://a.example/", timeout_seconds=10)
NEEDING = (
    RenderOptions(wait_for_ms=1),
    RenderOptions(actions=(Action(type=ActionType.SCROLL, direction="down"),)),
    RenderOptions(proxy=ProxyTier.STEALTH),
    RenderOptions(profile=Profile.MASTER),
    RenderOptions(mobile=True),
)


def plan(render: RenderOptions, *, site_needs_browser: bool = False) -> tuple[EngineStep, ...]:
    return plan_steps(replace(TASK, render=render), site_needs_browser=site_needs_browser)


def test_each_mode_has_its_engines() -> None:
    assert plan(RenderOptions()) == (EngineStep.STATIC, EngineStep.BROWSER, EngineStep.STEALTH)
    assert plan(RenderOptions(mode=Mode.STATIC)) == (EngineStep.STATIC,)
    assert plan(RenderOptions(mode=Mode.DYNAMIC)) == (EngineStep.BROWSER, EngineStep.STEALTH)


def test_the_proxy_tier_says_how_far_to_go() -> None:
    assert plan(RenderOptions(proxy=ProxyTier.BASIC)) == (EngineStep.STATIC, EngineStep.BROWSER)
    assert plan(RenderOptions(proxy=ProxyTier.STEALTH)) == (EngineStep.STEALTH,)


def test_a_site_that_needed_a_browser_gets_one_at_once() -> None:
    assert plan(RenderOptions(), site_needs_browser=True) == (
        EngineStep.BROWSER,
        EngineStep.STEALTH,
    )
    assert plan(RenderOptions(mode=Mode.STATIC), site_needs_browser=True) == (EngineStep.STATIC,)


def test_a_persons_profile_is_used_once() -> None:
    assert plan(RenderOptions(profile=Profile.MASTER)) == (EngineStep.BROWSER,)


@pytest.mark.parametrize("render", NEEDING)
def test_what_only_a_browser_can_do_goes_to_one(render: RenderOptions) -> None:
    assert EngineStep.STATIC not in plan(render)


def test_a_screenshot_goes_to_a_browser() -> None:
    task = replace(TASK, screenshot=Format.SCREENSHOT)
    assert plan_steps(task, site_needs_browser=False) == (EngineStep.BROWSER, EngineStep.STEALTH)


@pytest.mark.parametrize("render", NEEDING)
def test_static_with_what_only_a_browser_can_do_is_refused(render: RenderOptions) -> None:
    request = ScrapeRequest(url=TASK.url, render=replace(render, mode=Mode.STATIC))
    with pytest.raises(InvalidRequest) as refused:
        check_mode(request)
    assert refused.value.code is ErrorCode.VALIDATION_ERROR
    assert [problem.field for problem in refused.value.problems] == ["mode"]
    check_mode(replace(request, render=render))


CONSENT = "<p>We and our partners use cookies to process your data.</p><button>Accept all</button>"
LOGIN = "<title>Log in</title><form><input type='password'><button>Log in</button></form>"
MISSING = "<title>Page not found</title><p>Try the menu.</p>"
WALL = "<title>Just a moment...</title>"
SHELL = "<div id='root'></div><script src='/app.js'></script>"


def got(html: str) -> FetchedPage:
    return FetchedPage(
        url="https://a.example/",
        final_url="https://a.example/",
        status_code=200,
        headers={"content-type": "text/html"},
        body=html.encode(),
        source=FetchSource.NATIVE,
        strategy="native",
    )


@pytest.mark.parametrize(
    ("html", "reason"), [(CONSENT, "consent"), (WALL, "Blocked"), (SHELL, "JavaScript")]
)
def test_what_a_browser_may_get_past_goes_on_to_one(html: str, reason: str) -> None:
    assert reason in (reason_to_escalate(got(html), EngineStep.STATIC) or "")


@pytest.mark.parametrize("html", [LOGIN, MISSING, "<p>A page.</p>"])
def test_what_a_browser_would_show_as_well_is_taken_as_it_is(html: str) -> None:
    assert reason_to_escalate(got(html), EngineStep.STATIC) is None


def test_only_a_wall_goes_on_from_a_browser() -> None:
    assert reason_to_escalate(got(WALL), EngineStep.BROWSER)
    assert reason_to_escalate(got(CONSENT), EngineStep.BROWSER) is None
    assert reason_to_escalate(got(SHELL), EngineStep.BROWSER) is None
