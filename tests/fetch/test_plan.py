from dataclasses import replace

import pytest

from cinder.errors import ErrorCode, InvalidRequest
from cinder.fetch.base import FetchTask
from cinder.fetch.plan import Step, check_mode, plan_steps
from cinder.model.request import (
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


def plan(render: RenderOptions, *, site_needs_browser: bool = False) -> tuple[Step, ...]:
    return plan_steps(replace(TASK, render=render), site_needs_browser=site_needs_browser)


def test_each_mode_has_its_engines() -> None:
    assert plan(RenderOptions()) == (Step.STATIC, Step.BROWSER, Step.STEALTH)
    assert plan(RenderOptions(mode=Mode.STATIC)) == (Step.STATIC,)
    assert plan(RenderOptions(mode=Mode.DYNAMIC)) == (Step.BROWSER, Step.STEALTH)


def test_the_proxy_tier_says_how_far_to_go() -> None:
    assert plan(RenderOptions(proxy=ProxyTier.BASIC)) == (Step.STATIC, Step.BROWSER)
    assert plan(RenderOptions(proxy=ProxyTier.STEALTH)) == (Step.STEALTH,)


def test_a_site_that_needed_a_browser_gets_one_at_once() -> None:
    assert plan(RenderOptions(), site_needs_browser=True) == (Step.BROWSER, Step.STEALTH)
    assert plan(RenderOptions(mode=Mode.STATIC), site_needs_browser=True) == (Step.STATIC,)


def test_a_persons_profile_is_used_once() -> None:
    assert plan(RenderOptions(profile=Profile.MASTER)) == (Step.BROWSER,)


@pytest.mark.parametrize("render", NEEDING)
def test_what_only_a_browser_can_do_goes_to_one(render: RenderOptions) -> None:
    assert Step.STATIC not in plan(render)


def test_a_screenshot_goes_to_a_browser() -> None:
    task = replace(TASK, screenshot=Format.SCREENSHOT)
    assert plan_steps(task, site_needs_browser=False) == (Step.BROWSER, Step.STEALTH)


@pytest.mark.parametrize("render", NEEDING)
def test_static_with_what_only_a_browser_can_do_is_refused(render: RenderOptions) -> None:
    request = ScrapeRequest(url=TASK.url, render=replace(render, mode=Mode.STATIC))
    with pytest.raises(InvalidRequest) as refused:
        check_mode(request)
    assert refused.value.code is ErrorCode.VALIDATION_ERROR
    assert [problem.field for problem in refused.value.problems] == ["mode"]
    check_mode(replace(request, render=render))
