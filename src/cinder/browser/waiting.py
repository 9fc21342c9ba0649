"""Waits for a page to be complete: nothing changes in it, and nothing is due that may change it.

Where that is not known, the network has to be idle and the text to stop changing.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from cinder.browser.cdp import CdpMessage, CommandFailed
from cinder.browser.tab import ScriptFailed, Tab, read_result, script_call

# The length of the page's text without hidden elements. Unlike innerText it needs no layout.
_TEXT_LENGTH = """
(() => {
  const body = document.body;
  if (!body) return 0;
  let length = body.textContent.length;
  for (const unseen of body.querySelectorAll('script, style, noscript, template'))
    length -= unseen.textContent.length;
  return length;
})()
"""


# Chromium's event for an idle network comes so long after the last response.
_NETWORK_IDLE_SECONDS = 0.5
# Longer than what a page may do without a timer or a request: a frame, or a promise.
_QUIET_SECONDS = 0.05
# How many automatic navigations are followed.
_MAX_PAGES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitPolicy:
    """How long to wait for a page before it is read."""

    navigate_timeout_seconds: float = 30
    smart_wait: bool = True
    network_idle_seconds: float = 1.0
    check_interval_seconds: float = 0.1
    max_wait_seconds: float = 5
    stable_rounds: int = 2
    length_change_threshold: float = 0.02
    element_seconds: float = 5
    """How long an action waits for its element to appear, or to be uncovered."""
    script_seconds: float = 30
    """How long a caller's script may run."""

    @property
    def soon_seconds(self) -> float:
        """How long after the last response a change of the text is still waited for."""
        return _NETWORK_IDLE_SECONDS + self.stable_rounds * self.check_interval_seconds


def timers_script(question: str, policy: WaitPolicy) -> str:
    """Return the script for new pages that `wait_until_stable` asks about their timers.

    Args:
        question: the name of the event that asks, which the pages do not know.
        policy: the policy of the wait.
    """
    return script_call("timers", question, round(policy.soon_seconds * 1000))


class TextWatch:
    """Detects when the length of a page's text stays nearly the same for some rounds."""

    def __init__(self, policy: WaitPolicy) -> None:
        self._policy = policy
        self._last: int | None = None
        self._rounds = 0

    def is_stable(self, length: int) -> bool:
        """Record the text's current length; return whether the text has stopped changing."""
        before, self._last = self._last, length
        threshold = self._policy.length_change_threshold
        is_close = before is not None and abs(length - before) <= threshold * max(before, length)
        self._rounds = self._rounds + 1 if is_close else 0
        return self._rounds >= self._policy.stable_rounds


async def pause(tab: Tab, seconds: float) -> None:
    """Wait for some time.

    Raises:
        ConnectionClosed: the tab failed meanwhile.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await tab.wait_until(lambda: False)


async def wait_for_load(tab: Tab, policy: WaitPolicy) -> bool:
    """Wait until the page and its resources have loaded; return whether they did in time."""

    def has_loaded() -> bool:
        # An incomplete page has a load error, and never reaches the load event.
        return tab.has_reached("load") or tab.load_error is not None

    with suppress(TimeoutError):
        async with asyncio.timeout(policy.navigate_timeout_seconds):
            await tab.wait_until(lambda: has_loaded() and not tab.is_leaving)
            return True
    return False


async def wait_until_stable(tab: Tab, policy: WaitPolicy, question: str | None = None) -> None:
    """Wait until the page is quiet, or the network idle and the text unchanged, within limits.

    Automatic navigations to other pages are followed.

    Args:
        tab: the tab.
        policy: the limits.
        question: the event of `timers_script`; without it, no page is found quiet.
    """
    if not policy.smart_wait:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(policy.network_idle_seconds):
            if question is not None and await _wait_until_quiet(tab, policy, question):
                return
            await tab.wait_until(partial(_is_idle, tab))
    deadline = asyncio.get_running_loop().time() + policy.max_wait_seconds
    for _ in range(_MAX_PAGES):
        page_id, watch = tab.page_id, TextWatch(policy)
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                while not _has_left(tab, page_id):
                    try:
                        length = int(await tab.evaluate(_TEXT_LENGTH) or 0)
                    except ScriptFailed:  # another page is replacing this one
                        length = -1
                    if watch.is_stable(length):
                        break
                    await asyncio.sleep(policy.check_interval_seconds)
        if not _has_left(tab, page_id) or not await wait_for_load(tab, policy):
            return


async def _wait_until_quiet(tab: Tab, policy: WaitPolicy, question: str) -> bool:
    """Return whether the page became quiet before its network was idle.

    A quiet page has not changed for a while, waits for no data, and has no timers or other
    work that would change it as long as it would be waited for.
    """
    limit_ms = round(policy.network_idle_seconds * 1000)
    quiet_ms = round(_QUIET_SECONDS * 1000)
    clock = asyncio.get_running_loop().time
    while not _is_idle(tab):
        page_id = tab.page_id
        try:
            watch = await tab.start("quiet", question, quiet_ms, limit_ms)
            await tab.wait_until(partial(_has_ended, watch, tab))
            if not watch.done():
                return False
            is_quiet = read_result(watch.result())
        except (ScriptFailed, CommandFailed):  # another page is replacing this one
            return False
        is_resting = not tab.awaits_data and clock() - tab.network_used_at >= _QUIET_SECONDS
        if is_quiet and is_resting and not _has_left(tab, page_id):
            return True
        await tab.wait_until(lambda: _is_idle(tab) or not tab.awaits_data)
    return False


def _is_idle(tab: Tab) -> bool:
    return tab.has_reached("networkIdle")


def _has_ended(watch: asyncio.Future[CdpMessage], tab: Tab) -> bool:
    return watch.done() or _is_idle(tab)


def _has_left(tab: Tab, page_id: str) -> bool:
    return tab.is_leaving or tab.page_id != page_id
