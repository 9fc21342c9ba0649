"""The plan for a URL: which engines may try it, in order, and what sends it on to the next."""

from enum import StrEnum

from cinder.errors import FieldProblem, InvalidRequest
from cinder.fetch.base import FetchTask
from cinder.fetch.verdicts.blocked import find_block_signs
from cinder.fetch.verdicts.consent_only import find_consent_signs
from cinder.fetch.verdicts.js_shell import find_shell_signs
from cinder.fetch.verdicts.reading import Reading
from cinder.model.document import FetchedPage
from cinder.model.request import Format, Mode, Profile, ProxyTier, RenderOptions, ScrapeRequest


class Step(StrEnum):
    """A rung of the ladder: an engine to try."""

    STATIC = "static"
    BROWSER = "browser"
    STEALTH = "stealth"


_BROWSER_STEPS = {
    ProxyTier.BASIC: (Step.BROWSER,),
    ProxyTier.STEALTH: (Step.STEALTH,),
    ProxyTier.AUTO: (Step.BROWSER, Step.STEALTH),
}


def plan_steps(task: FetchTask, *, site_needs_browser: bool) -> tuple[Step, ...]:
    """Return the engines that may try a URL, in order; `site_needs_browser` is what was learnt."""
    render = task.render
    if render.mode is Mode.STATIC:
        return (Step.STATIC,)
    steps = _BROWSER_STEPS[render.proxy]
    if render.profile is Profile.MASTER:
        steps = steps[:1]  # a person's profile is not tried twice on one page
    is_told = render.mode is Mode.DYNAMIC or option_for_browser(render, task.screenshot)
    return steps if is_told or site_needs_browser else (Step.STATIC, *steps)


def reason_to_go_on(page: FetchedPage, step: Step) -> str | None:
    """Return why the next engine should try as well, where this one's page is not good enough."""
    reading = Reading(page)
    if signs := find_block_signs(reading):
        return f"Blocked: {signs}"
    if step is not Step.STATIC or page.status_code >= 400:
        return None
    if signs := find_consent_signs(reading):
        return f"The page asks for consent first: {signs}"
    if signs := find_shell_signs(reading):
        return f"The page needs JavaScript: {signs}"
    return None


def check_mode(request: ScrapeRequest) -> None:
    """Return if a request's options fit its mode.

    Raises:
        InvalidRequest: it wants no browser, and something that only a browser can do.
    """
    option = option_for_browser(request.render, request.screenshot)
    if request.render.mode is Mode.STATIC and option:
        message = f"'static' fetches without a browser, and {option} needs one"
        raise InvalidRequest(problems=(FieldProblem("mode", message),), url=request.url)


def option_for_browser(render: RenderOptions, screenshot: Format | None) -> str | None:
    """Return the option that only a browser can serve, if there is one."""
    needs = {
        "waitFor": render.wait_for_ms > 0,
        "actions": bool(render.actions),
        "proxy 'stealth'": render.proxy is ProxyTier.STEALTH,
        "profile 'master'": render.profile is Profile.MASTER,
        "mobile": render.mobile,
        "a screenshot": screenshot is not None,
    }
    return next((option for option, is_asked in needs.items() if is_asked), None)
