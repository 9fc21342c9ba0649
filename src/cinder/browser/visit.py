"""A visit: one page in one tab, from its configuration to reading the page."""

import asyncio
import base64
import re
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from cinder.browser.actions import ActionLimits, ActionRunner, capture_full_page, capture_viewport
from cinder.browser.blocking import Interception
from cinder.browser.cdp import CommandFailed
from cinder.browser.identity import CallerHeaders, Identity
from cinder.browser.tab import (
    DownloadStarted,
    NoPage,
    PageResponse,
    ScriptFailed,
    Tab,
    error_of_net_code,
    page_too_large,
    read_script,
)
from cinder.browser.waiting import (
    WaitPolicy,
    pause,
    timers_script,
    wait_for_load,
    wait_until_stable,
)
from cinder.egress.credentials import ProxyCredentials
from cinder.errors import (
    ActionFailed,
    CinderError,
    EgressBlocked,
    ScrapeFailed,
    ScrapeTimeout,
)
from cinder.fetch.base import FetchTask, FileFound, RedirectRefused
from cinder.fetch.responses import media_type
from cinder.models.document import (
    BRAND_ROLES,
    BRAND_STYLES,
    BUTTON,
    BUTTONS,
    HIDING_WAYS,
    MAX_BUTTONS,
    FetchedPage,
    FetchSource,
    HiddenPart,
    Json,
    Media,
)
from cinder.models.request import ActionType, Format
from cinder.models.url import MAX_URL_LENGTH, host_and_port, origin_of, parse_web_url

MAX_UNSEEN_PARTS = 2_000
# With the space, the equals sign and the quotes around it.
MAX_PATH_CHARS = 20


def remove_unseen_marks(html: str, mark: str) -> tuple[str, tuple[HiddenPart, ...]]:
    """Return a page without the marks, and the positions of the marked elements.

    Args:
        html: the page's HTML.
        mark: the name of the attribute, which the page itself does not use.
    """
    if mark not in html:
        return html, ()
    pieces = re.split(rf' {re.escape(mark)}="([A-Z_]{{1,15}})"', html)
    found: list[HiddenPart] = []
    position = 0
    for text, way in zip(pieces[::2], pieces[1::2], strict=False):
        position += len(text)
        if way in HIDING_WAYS:
            found.append(HiddenPart(position, way))
    return "".join(pieces[::2]), tuple(found)


_HTML_TYPES = ("text/html", "application/xhtml+xml")
_READ_TRIES = 3
_CURRENT_URL = f"location.href.slice(0, {MAX_URL_LENGTH + 1})"
# Chromium shows pages that are not HTML in its own viewer; their text is the response's body.
_BUFFER = {"maxTotalBufferSize": 64 * 1024 * 1024}


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitSettings:
    """The settings of all visits."""

    wait: WaitPolicy
    max_body_bytes: int
    max_screenshot_height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TabConfiguration:
    """The identity, headers and blocking of a tab for one visit."""

    identity: Identity
    headers: CallerHeaders
    interception: Interception
    blocked: dict[str, Any]
    """The parameters of `Network.setBlockedURLs`. Any: the protocol's JSON."""
    wait: WaitPolicy
    question: str | None
    """The event that asks pages about their timers; None for pages that could tell."""

    def commands(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the commands that configure a tab. Any: the protocol's JSON."""
        return [
            ("Page.enable", {}),
            ("Page.setLifecycleEventsEnabled", {"enabled": True}),
            ("Inspector.enable", {}),
            ("Network.enable", _BUFFER),
            ("Network.setBlockedURLs", self.blocked),
            ("Page.addScriptToEvaluateOnNewDocument", {"source": self._first_script()}),
            *self.identity.commands(),
            *self.interception.commands(),
        ]

    def _first_script(self) -> str:
        """Return what runs in every page before its own scripts."""
        scripts = [read_script("before_page")]
        if self.question is not None:
            scripts.append(timers_script(self.question, self.wait))
        return ";\n".join(scripts)


class Visit:
    """One page in one tab, which is configured for it."""

    def __init__(
        self,
        tab: Tab,
        task: FetchTask,
        settings: VisitSettings,
        proxy_credentials: ProxyCredentials,
    ) -> None:
        self._tab = tab
        self._task = task
        self._settings = settings
        self._proxy_credentials = proxy_credentials
        self._warnings: list[str] = []

    async def run(self, configuration: TabConfiguration, strategy: str) -> FetchedPage:
        """Navigate to the page, wait for it, run the actions and read it.

        Raises:
            CinderError: the page cannot be fetched, or an action failed.
            FileFound: the URL leads to a file.
            ConnectionClosed: the browser is gone.
        """
        try:
            return await self._run(configuration, strategy)
        except CinderError as error:
            self._require_landing(configuration, error)
            raise

    async def _run(self, configuration: TabConfiguration, strategy: str) -> FetchedPage:
        self._tab.max_document_bytes = self._settings.max_body_bytes
        configuration.interception.attach_to(self._tab)
        await configuration.headers.set_cookies(self._tab.session)
        try:
            await self._navigate()
        except NoPage as no_page:
            return self._page(no_page.answer, b"", strategy)
        if not await wait_for_load(self._tab, self._settings.wait):
            self._warnings.append("The page was still loading when it was read.")
        if wait_ms := self._task.render.wait_for_ms:
            await pause(self._tab, wait_ms / 1000)
        else:
            await wait_until_stable(self._tab, self._settings.wait, configuration.question)
        runner = ActionRunner(
            self._tab,
            self._settings.wait,
            ActionLimits(max_html_chars=self._settings.max_body_bytes),
            dismiss_overlays=self._dismiss_consent,
        )
        blocked_before = self._proxy_credentials.last_blocked
        try:
            actions = await runner.run(self._task.render.actions)
        except ActionFailed as error:
            blocked = self._proxy_credentials.last_blocked
            # A script does not learn why its request failed.
            is_script = runner.failed is ActionType.EXECUTE_JAVASCRIPT
            if is_script and blocked is not None and blocked is not blocked_before:
                raise EgressBlocked(f"{error.message} {blocked.message}") from error
            raise self._refusal() or error from error
        # Not before the actions, which may use the dialog.
        await self._dismiss_consent()
        self._require_landing(configuration)
        page = await self._read(strategy)
        screenshot = await self._capture()
        return replace(
            page,
            actions=actions,
            screenshot=screenshot,
            style_samples=await self._sample_styles(),
            warnings=tuple(self._warnings),
            pages_taken=self._tab.pages_asked_for,
        )

    def _require_landing(
        self, configuration: TabConfiguration, cause: Exception | None = None
    ) -> None:
        """Raise an error if the tab tried to navigate to a URL that is not allowed."""
        if (target := configuration.interception.refused_landing) is not None:
            raise RedirectRefused(self._task.url, target) from cause

    async def _navigate(self) -> None:
        try:
            async with asyncio.timeout(self._settings.wait.navigate_timeout_seconds):
                await self._tab.navigate(self._task.url)
        except TimeoutError:
            seconds = self._settings.wait.navigate_timeout_seconds
            raise ScrapeTimeout(
                f"The page did not begin to load within {seconds:g} s (setting "
                "scrape.navigate-timeout-ms)"
            ) from None
        except DownloadStarted as found:
            raise await self._file(found.url) from None
        except NoPage:
            raise
        except CinderError as error:
            raise self._refusal() or error from error
        self._check_refusal()
        answer = self._tab.answer
        if answer is not None and answer.status_code < 400:
            headers = {"content-type": answer.mime} | answer.headers
            if media_type(replace(self._page(answer, b"", ""), headers=headers)) is not None:
                raise await self._file(answer.url)
        announced = answer.headers.get("content-length", "") if answer else ""
        if announced.isdecimal() and int(announced[:20]) > self._settings.max_body_bytes:
            raise page_too_large("The rendered page", self._settings.max_body_bytes)

    def _check_refusal(self) -> None:
        """Raise the egress proxy's refusal if the tab shows an error because of it."""
        answer = self._tab.answer
        is_error = self._tab.load_error is not None or (answer and answer.status_code >= 400)
        if is_error and (refusal := self._refusal()):
            raise refusal

    def _refusal(self) -> CinderError | None:
        """Return the egress proxy's refusal of the page, which the browser does not report."""
        try:
            target = host_and_port(parse_web_url(self._tab.asked_url))
        except ValueError:  # there was no request, or the URL is not of the web
            return None
        refusal = self._proxy_credentials.refusal_for(*target)
        return None if refusal is None else refusal.to_error(self._task.url)

    async def _file(self, url: str) -> FileFound:
        if origin_of(url) != origin_of(self._task.url):
            # The redirect is followed again, so that the caller's headers stay with their origin.
            url = self._task.url
        cookies = await self._tab.session.send("Network.getCookies", urls=[url])
        pairs = [f"{cookie['name']}={cookie['value']}" for cookie in cookies["cookies"]]
        # In the caller's spelling, so that it replaces their header.
        spelled = (name for name, _ in self._task.headers if name.lower() == "cookie")
        return FileFound(url, ((next(spelled, "Cookie"), "; ".join(pairs)),) if pairs else ())

    async def _dismiss_consent(self) -> None:
        if self._task.render.block_ads:
            with suppress(ScriptFailed):
                await self._tab.evaluate(read_script("consent"))

    # Reading

    async def _read(self, strategy: str) -> FetchedPage:
        self._check_refusal()
        answer = self._tab.answer
        if self._tab.load_error is not None:
            # The browser shows its own error page; also for an error status without a body.
            if answer is None or answer.status_code < 400:
                raise error_of_net_code(self._tab.load_error, self._tab.asked_url)
            return self._page(answer, b"", strategy)
        url = str(await self._evaluate(_CURRENT_URL))
        if len(url) > MAX_URL_LENGTH and url.startswith(("http://", "https://")):
            # A script can make its page's URL megabytes long without navigating.
            url = self._tab.answer.url if self._tab.answer else self._task.url
        try:
            url = parse_web_url(url)
        except ValueError:
            scheme = url.partition(":")[0][:40]
            raise EgressBlocked(f"The page led out of the web, to a {scheme}: address") from None
        if answer is None or answer.mime in _HTML_TYPES:
            # Random each time, so that a page can neither use it nor remove it.
            mark = f"data-{secrets.token_hex(16)}"
            room = MAX_UNSEEN_PARTS * (len(mark) + MAX_PATH_CHARS) + self._settings.max_body_bytes
            # An action may have opened a dialog for what it shows.
            keeps_overlays = bool(self._task.render.actions)
            taken = await self._call("seen_html", mark, room, keeps_overlays)
            if taken.get("isMostlyUnseen"):
                self._warnings.append(
                    "Most of the page's text is out of a visitor's sight in the browser; it was "
                    "kept."
                )
            html, unseen = remove_unseen_marks(str(taken.get("html") or ""), mark)
            body = self._encode(None if taken.get("html") is None else html)
            page = replace(self._page(answer, body, strategy, mime="text/html"), unseen=unseen)
        else:
            body, mime = await self._body(answer)
            page = self._page(answer, body, strategy, mime=mime)
        return replace(page, final_url=url)

    def _page(
        self, answer: PageResponse | None, body: bytes, strategy: str, *, mime: str | None = None
    ) -> FetchedPage:
        """Return a page; a MIME type means that the browser has decoded its body."""
        headers = dict(answer.headers) if answer else {}
        # The body is decompressed.
        for name in ("content-encoding", "content-length", "transfer-encoding"):
            headers.pop(name, None)
        if mime is not None:
            headers["content-type"] = f"{mime}; charset=utf-8"
        return FetchedPage(
            url=self._task.url,
            final_url=answer.url if answer else self._task.url,
            status_code=answer.status_code if answer else 200,
            headers=headers,
            body=body,
            source=FetchSource.BROWSER,
            strategy=strategy,
        )

    def _encode(self, html: str | None) -> bytes:
        limit = self._settings.max_body_bytes
        body = None if html is None else html.encode(errors="replace")
        if body is None or len(body) > limit:
            raise page_too_large("The rendered page", limit)
        return body

    async def _evaluate(self, script: str) -> Any:
        """Run a script, again if the page is replaced meanwhile. Any: its result."""
        return await self._repeat(partial(self._tab.evaluate, script))

    async def _call(self, name: str, *arguments: object) -> Any:
        """Call a function, again if the page is replaced meanwhile. Any: its result."""
        return await self._repeat(partial(self._tab.call, name, *arguments))

    async def _repeat(self, read: Callable[[], Awaitable[Any]]) -> Any:
        for attempt in range(_READ_TRIES):
            try:
                return await read()
            except ScriptFailed as error:
                if attempt == _READ_TRIES - 1:
                    raise ScrapeFailed(f"The page cannot be read: {error}") from error
                await wait_for_load(self._tab, self._settings.wait)
        raise AssertionError("unreachable")

    async def _body(self, answer: PageResponse) -> tuple[bytes, str | None]:
        """Return the response's body, and its MIME type if the browser has decoded it."""
        limit = self._settings.max_body_bytes
        try:
            got = await self._tab.session.send(
                "Network.getResponseBody", requestId=answer.request_id
            )
        except CommandFailed:
            taken = await self._call("outer_html", None, limit)
            html = taken.get("html")
            return self._encode(None if html is None else str(html)), "text/html"
        is_text = not got["base64Encoded"]
        body = got["body"].encode(errors="replace") if is_text else base64.b64decode(got["body"])
        if len(body) > limit:
            raise page_too_large("The page", limit)
        # The server's type: browsers sniff other types for feeds.
        declared = answer.headers.get("content-type", "").partition(";")[0].strip()
        return body, (declared or answer.mime) if is_text else None

    async def _sample_styles(self) -> dict[str, Json] | None:
        """Return samples of the computed styles, if requested."""
        samples = None
        if self._task.wants_styles:
            arguments = (BRAND_ROLES, BUTTON, BUTTONS, MAX_BUTTONS, BRAND_STYLES)
            with suppress(ScriptFailed):
                samples = await self._tab.call("brand_styles", *arguments)
        return samples if isinstance(samples, dict) else None

    async def _capture(self) -> Media | None:
        if self._task.screenshot is None:
            return None
        if self._task.screenshot is Format.SCREENSHOT:
            return await capture_viewport(self._tab)
        limit = self._settings.max_screenshot_height
        media, is_cut = await capture_full_page(self._tab, limit)
        if is_cut:
            self._warnings.append(
                f"The page is larger than the screenshot, which ends at {limit} pixels (setting "
                "browser.screenshot-max-height)."
            )
        return media
