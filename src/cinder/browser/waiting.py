"""Waits for a page to be complete: the network is idle and the text stops changing."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from cinder.browser.tab import ScriptFailed, Tab

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


async def wait_until_stable(tab: Tab, policy: WaitPolicy) -> None:
    """Wait until the network is idle and the text stops changing, within limits.

    Automatic navigations to other pages are followed.
    """
    if not policy.smart_wait:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(policy.network_idle_seconds):
            await tab.wait_until(lambda: tab.has_reached("networkIdle"))
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


def _has_left(tab: Tab, page_id: str) -> bool:
    return tab.is_leaving or tab.page_id != page_id
