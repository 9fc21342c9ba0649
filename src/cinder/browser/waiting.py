"""Waits for a page to be complete: the network is idle and the text stops changing."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from cinder.browser.tab import ScriptFailed, Tab

# The page's text without what is never shown. Reading it costs no layout, unlike innerText.
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


# How many pages that replace each other by themselves are followed.
_MAX_PAGES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitPolicy:
    """How long and how closely a page is watched before it is read."""

    navigate_timeout_seconds: float = 30
    smart_wait: bool = True
    network_idle_seconds: float = 1.0
    check_interval_seconds: float = 0.1
    max_wait_seconds: float = 5
    stable_rounds: int = 2
    length_change_threshold: float = 0.02
    element_seconds: float = 5
    """How long an action waits for its element to appear, or to come out from under another."""
    script_seconds: float = 30
    """How long a caller's script may run."""


class TextWatch:
    """Tells when a page's text has stayed the same, or nearly so, for some rounds."""

    def __init__(self, policy: WaitPolicy) -> None:
        self._policy = policy
        self._last: int | None = None
        self._rounds = 0

    def is_stable(self, length: int) -> bool:
        """Take in the text's present length and return whether it is done changing."""
        if self._last is not None and self._is_close(self._last, length):
            self._rounds += 1
        else:
            self._rounds = 0
        self._last = length
        return self._rounds >= self._policy.stable_rounds

    def _is_close(self, before: int, now: int) -> bool:
        return abs(now - before) <= self._policy.length_change_threshold * max(before, now)


async def pause(tab: Tab, seconds: float) -> None:
    """Let some time go by.

    Raises:
        ConnectionClosed: the tab failed meanwhile.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await tab.wait_until(lambda: False)


async def wait_for_load(tab: Tab, policy: WaitPolicy) -> bool:
    """Wait until the page and all it names have loaded; return whether they did in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(policy.navigate_timeout_seconds):
            await tab.wait_until(lambda: _has_loaded(tab) and not tab.is_leaving)
            return True
    return False


def _has_loaded(tab: Tab) -> bool:
    # A page that broke off in the middle never comes to that moment.
    return tab.has_reached("load") or tab.load_error is not None


async def wait_until_stable(tab: Tab, policy: WaitPolicy) -> None:
    """Wait for the network to fall quiet and the text to stop changing, within limits.

    A page that goes on to another by itself is followed.
    """
    if not policy.smart_wait:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(policy.network_idle_seconds):
            await tab.wait_until(lambda: tab.has_reached("networkIdle"))
    deadline = asyncio.get_running_loop().time() + policy.max_wait_seconds
    for _ in range(_MAX_PAGES):
        page_id = tab.page_id
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                await _watch_text(tab, policy)
        if not _has_left(tab, page_id) or not await wait_for_load(tab, policy):
            return


async def _watch_text(tab: Tab, policy: WaitPolicy) -> None:
    """Wait until the text has stopped changing, or its page is left."""
    watch, page_id = TextWatch(policy), tab.page_id
    while not _has_left(tab, page_id):
        if watch.is_stable(await _text_length(tab)):
            return
        await asyncio.sleep(policy.check_interval_seconds)


def _has_left(tab: Tab, page_id: str) -> bool:
    return tab.is_leaving or tab.page_id != page_id


async def _text_length(tab: Tab) -> int:
    try:
        return int(await tab.evaluate(_TEXT_LENGTH) or 0)
    except ScriptFailed:  # the page is being replaced by another
        return -1
