"""Browser actions, run in order on a page, and screenshots."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from cinder.browser.cdp import CdpMessage, CommandFailed
from cinder.browser.tab import (
    DownloadStarted,
    ScriptFailed,
    Tab,
    error_of_net_code,
    read_result,
    script_call,
    wrap_script,
)
from cinder.browser.waiting import WaitPolicy, pause, wait_for_load, wait_until_stable
from cinder.errors import ActionFailed, CinderError
from cinder.models.document import ActionResult, Media
from cinder.models.request import Action, ActionType, KeyPress, parse_key_combination

PNG = "image/png"

# Scrolls down and back: pages load much of their content only when it comes into view.
_WALK_DOWN = """
(async () => {
  const frame = () => new Promise(resolve => setTimeout(resolve, 50));
  const end = Math.min(document.documentElement.scrollHeight, %d);
  const start = [window.scrollX, window.scrollY];
  for (let y = 0, steps = 0; y < end && steps < 40; y += innerHeight || 800, steps++) {
    window.scrollTo(0, y);
    await frame();
  }
  window.scrollTo(...start);
  const pending = [...document.images].filter(image => !image.complete).slice(0, 200);
  const settled = image => new Promise(resolve => { image.onload = image.onerror = resolve; });
  await Promise.race([
    Promise.all(pending.map(settled)), new Promise(resolve => setTimeout(resolve, 2000))
  ]);
  return devicePixelRatio || 1;
})()
"""


async def capture_viewport(tab: Tab) -> Media:
    """Capture the visible part of the page."""
    return _media(await tab.session.send("Page.captureScreenshot", format="png"))


async def capture_full_page(tab: Tab, max_height: int) -> tuple[Media, bool]:
    """Capture the page up to `max_height` pixels; return also whether the page is larger."""
    density = 1.0
    with suppress(ScriptFailed):  # the page navigated away meanwhile
        density = float(await tab.evaluate(_WALK_DOWN % max_height))
    # The limit is in pixels of the image; CSS pixels are larger on a phone.
    limit = max_height / density
    metrics = await tab.session.send("Page.getLayoutMetrics")
    size = metrics["cssContentSize"]
    height, width = min(size["height"], limit), min(size["width"], limit)
    shot = await tab.session.send(
        "Page.captureScreenshot",
        format="png",
        captureBeyondViewport=True,
        clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
    )
    return _media(shot), size["height"] > height or size["width"] > width


def _media(shot: CdpMessage) -> Media:
    return Media(PNG, base64.b64decode(shot["data"]))


_POLL_SECONDS = 0.1
# Time enough for a click's handlers to start a navigation.
_REACTION_SECONDS = 0.05
_MAX_SHOWN = 200
_MAX_LEVELS = 100
_LOOK_SECONDS = 5
# Actions that may navigate or change the page's text.
_STIRRING = (
    ActionType.CLICK,
    ActionType.PRESS,
    ActionType.WRITE,
    ActionType.SCROLL,
    ActionType.EXECUTE_JAVASCRIPT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionLimits:
    """How much the actions of a request may return."""

    max_html_chars: int = 10 * 1024 * 1024
    max_result_chars: int = 1024 * 1024
    max_screenshots: int = 10


class _NotDone(Exception):
    """An action could not be done; the message gives the reason."""


class ActionRunner:
    """Runs a request's actions on a tab."""

    def __init__(
        self,
        tab: Tab,
        policy: WaitPolicy,
        limits: ActionLimits,
        *,
        dismiss_overlays: Callable[[], Awaitable[None]],
    ) -> None:
        self._tab = tab
        self._policy = policy
        self._limits = limits
        self._dismiss_overlays = dismiss_overlays
        self.failed: ActionType | None = None
        """The kind of action that could not be done."""
        self._screenshots = 0
        self._html_chars_left = limits.max_html_chars

    async def run(self, actions: tuple[Action, ...]) -> tuple[ActionResult, ...]:
        """Run actions one after another and return their results.

        Raises:
            ActionFailed: an action failed; the message names it and describes the page.
        """
        results = []
        for index, action in enumerate(actions):
            started = monotonic()
            try:
                result = await self._perform(action)
            except (_NotDone, ScriptFailed, CommandFailed) as error:
                self.failed = action.type
                try:
                    async with asyncio.timeout(_LOOK_SECONDS):
                        page = str(await self._tab.evaluate(script_call("describe_page")))
                except ScriptFailed:
                    page = "a page that was just being replaced"
                except TimeoutError:
                    page = "a page too busy to be looked at"
                target = f" '{_shorten(action.selector)}'" if action.selector else ""
                raise ActionFailed(
                    f"actions[{index}] ({action.type}{target}) could not be done: {error}. The "
                    f"page then was {page}."
                ) from error
            elapsed_ms = round((monotonic() - started) * 1000)
            results.append(replace(result, elapsed_ms=elapsed_ms))
        if actions and actions[-1].type in _STIRRING:
            await wait_until_stable(self._tab, self._policy)
        return tuple(results)

    async def _perform(self, action: Action) -> ActionResult:
        match action.type:
            case ActionType.CLICK:
                return await self._click(action)
            case ActionType.WRITE:
                return await self._write(action)
            case ActionType.PRESS:
                return await self._press(action)
            case ActionType.SCRAPE:
                return await self._scrape(action)
            case ActionType.EXECUTE_JAVASCRIPT:
                return await self._execute(action)
            case ActionType.SCROLL:
                moved = await self._call("scroll", action.direction or "down", action.amount)
                message = (
                    f"Scrolled {action.direction} by {moved['moved']} pixels, to {moved['top']} of "
                    f"{moved['height']}."
                )
                return ActionResult(type=action.type, message=message)
            case ActionType.SCREENSHOT:
                self._screenshots += 1
                if self._screenshots > (most := self._limits.max_screenshots):
                    raise _NotDone(f"a request takes at most {most} screenshots")
                shot = await capture_viewport(self._tab)
                message = f"Took a screenshot of {len(shot.data)} bytes."
                return ActionResult(
                    type=action.type, message=message, name=action.name, screenshot=shot
                )
            case ActionType.WAIT:
                milliseconds = action.milliseconds or 0
                await pause(self._tab, milliseconds / 1000)
                return ActionResult(type=action.type, message=f"Waited {milliseconds} ms.")

    async def _click(self, action: Action) -> ActionResult:
        element = await self._find(action.selector or "")
        before = self._tab_state()
        point = {"x": element["x"], "y": element["y"], "button": "left", "clickCount": 1}
        for event in ("mouseMoved", "mousePressed", "mouseReleased"):
            await self._tab.session.send("Input.dispatchMouseEvent", type=event, **point)
        arrival = await self._follow(before)
        return ActionResult(type=action.type, message=f"Clicked {element['description']}.{arrival}")

    async def _write(self, action: Action) -> ActionResult:
        element = await self._find(action.selector or "")
        text = action.text or ""
        chosen = await self._call("fill", action.selector, text)
        if chosen.get("problem"):
            raise _NotDone(chosen["problem"])
        if not chosen.get("isDone"):
            await self._tab.session.send("Input.insertText", text=text)
        return ActionResult(
            type=action.type, message=f"Wrote {len(text)} characters into {element['description']}."
        )

    async def _press(self, action: Action) -> ActionResult:
        before = self._tab_state()
        try:
            key = parse_key_combination(action.key or "")
        except ValueError as error:
            raise _NotDone(str(error)) from error
        for held in key.held:
            await self._key_event("rawKeyDown", held)
        await self._key_event("keyDown" if key.text else "rawKeyDown", key)
        await self._key_event("keyUp", key)
        for held in reversed(key.held):
            await self._key_event("keyUp", held)
        arrival = await self._follow(before)
        return ActionResult(type=action.type, message=f"Pressed {action.key}.{arrival}")

    async def _key_event(self, kind: str, key: KeyPress) -> None:
        await self._tab.session.send(
            "Input.dispatchKeyEvent",
            type=kind,
            key=key.key,
            code=key.code,
            windowsVirtualKeyCode=key.virtual_key_code,
            modifiers=key.modifiers,
            **({"text": key.text} if key.text and kind == "keyDown" else {}),
        )

    async def _scrape(self, action: Action) -> ActionResult:
        if action.selector:
            await self._find(action.selector, needs_to_be_seen=False)
        taken = await self._call("outer_html", action.selector, self._html_chars_left)
        if "html" not in taken:
            limit = self._limits.max_html_chars
            raise _NotDone(
                f"its {taken['length']} characters are more than is left of the {limit} that all "
                "scrapes of a request may take (setting scrape.max-body-bytes)"
            )
        self._html_chars_left -= len(taken["html"])
        return ActionResult(
            type=action.type,
            message=f"Took {len(taken['html'])} characters of HTML.",
            html=taken["html"],
        )

    async def _execute(self, action: Action) -> ActionResult:
        before = self._tab_state()
        # The script may be an expression, one that awaits, or the body of a function.
        script = action.script or ""
        if await self._compiles(script):
            script = f"(0, eval)({json.dumps(script)})"
        elif await self._compiles(awaiting := f"(async () => ({script}\n))()"):
            script = awaiting
        else:
            script = f"(async () => {{{script}\n}})()"
        seconds = self._policy.script_seconds
        try:
            async with asyncio.timeout(seconds):
                # In the page's own world, like one of the page's scripts.
                answer = await self._tab.session.send(
                    "Runtime.evaluate",
                    expression=wrap_script(script, self._limits.max_result_chars),
                    awaitPromise=True,
                    returnByValue=True,
                    userGesture=True,
                )
        except TimeoutError:
            # A script that never pauses would block all others on the page.
            self._tab.session.post("Runtime.terminateExecution")
            raise _NotDone(
                f"it did not end within {seconds:g} s (setting scrape.script-timeout-ms)"
            ) from None
        outcome = read_result(answer)
        if "length" in outcome:
            limit = self._limits.max_result_chars
            raise _NotDone(f"its result has more than {limit} characters as JSON")
        arrival = await self._follow(before)
        value = _read_value(outcome)
        return ActionResult(type=action.type, message=f"Ran the script.{arrival}", value=value)

    async def _compiles(self, script: str) -> bool:
        session = self._tab.session
        # Disabled right after: while enabled, it reports all console messages of the page.
        await session.send("Runtime.enable")
        compiled = await session.send(
            "Runtime.compileScript", expression=script, sourceURL="", persistScript=False
        )
        await session.send("Runtime.disable")
        return "exceptionDetails" not in compiled

    async def _call(self, script: str, *arguments: object) -> dict[str, Any]:
        """Run one of cinder's scripts. Any: each returns an object of its own shape."""
        result: dict[str, Any] = await self._tab.evaluate(script_call(script, *arguments))
        return result

    async def _find(self, selector: str, *, needs_to_be_seen: bool = True) -> dict[str, Any]:
        """Scroll to the element of a selector, after a wait for it, and describe it.

        Any: the result of the script `locate`.
        """
        found: dict[str, Any] = {}
        for _ in range(max(1, round(self._policy.element_seconds / _POLL_SECONDS))):
            try:
                found = await self._call("locate", selector, needs_to_be_seen)
            except ScriptFailed:
                found = {"problem": "the page keeps being replaced"}
            if "problem" not in found or found.get("isFinal"):
                break
            if found.get("isCovered"):
                await self._dismiss_overlays()
            await asyncio.sleep(_POLL_SECONDS)
        if "problem" in found:
            raise _NotDone(found["problem"])
        return found

    def _tab_state(self) -> tuple[str, int, int]:
        """Return the current page, and the number of opened windows and of files met."""
        return self._tab.page_id, len(self._tab.opened_windows), self._tab.files_met

    async def _follow(self, before: tuple[str, int, int]) -> str:
        """Wait for a navigation that the action started; return a sentence about it."""
        page_id, windows, files = before
        await asyncio.sleep(_REACTION_SECONDS)
        if opened := self._tab.opened_windows[windows:]:
            # The window itself is closed: this tab navigates to its URL.
            url = _shorten(opened[0])
            try:
                async with asyncio.timeout(self._policy.navigate_timeout_seconds):
                    await self._tab.navigate(opened[0])
            except (DownloadStarted, ValueError):
                return f" It opened {url}, which is not a page."
            except TimeoutError:
                raise _NotDone("it opened a window that does not begin to load") from None
            except CinderError as error:
                raise _NotDone(f"it opened a window that does not load: {error.message}") from error
            await self._settle()
            return f" It opened a new window, {url}: went there instead."
        if self._tab.is_leaving or self._tab.page_id != page_id:
            await self._settle()
        if self._tab.files_met > files:
            return " It led to a file, which was not downloaded."
        return "" if self._tab.page_id == page_id else " That led to another page."

    async def _settle(self) -> None:
        """Wait for the tab's new page."""
        await wait_for_load(self._tab, self._policy)
        await wait_until_stable(self._tab, self._policy)
        if self._tab.load_error is not None and self._tab.answer is None:
            error = error_of_net_code(self._tab.load_error, self._tab.asked_url)
            raise _NotDone(f"it led to {_shorten(self._tab.asked_url)}: {error.message}")


def _shorten(text: str | None) -> str:
    text = text or ""
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _read_value(outcome: CdpMessage) -> Any:  # Any: the script's result
    """Return a script's result, unless it is nested too deeply to be serialised."""
    if "json" not in outcome:
        return outcome.get("value")
    too_deep = _NotDone(f"its result is nested deeper than {_MAX_LEVELS} levels")
    try:
        value = json.loads(outcome["json"])
    except RecursionError:
        raise too_deep from None
    level = [value]
    for _ in range(_MAX_LEVELS):
        containers = [part for part in level if isinstance(part, dict | list)]
        level = [
            inner
            for part in containers
            for inner in (part.values() if isinstance(part, dict) else part)
        ]
        if not level:
            return value
    raise too_deep
