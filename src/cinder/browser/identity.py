"""A browser's identity: user agent, languages, location, and the caller's own headers."""

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cinder.browser.cdp import CdpMessage, CdpSession
from cinder.models.redaction import is_secret_header
from cinder.models.request import ProxyTier
from cinder.models.url import origin_of

_LOCALE = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|[0-9]{3}))?")
_TIME_ZONE = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")
# The values of `navigator.platform`.
_PLATFORM_NAMES = {"Windows": "Win32", "macOS": "MacIntel", "Android": "Linux armv81"}
_CHROME = re.compile(r"Chrome/(\d+)([\d.]*)")
_MOBILE_SCREEN = {"width": 412, "height": 915, "deviceScaleFactor": 2, "mobile": True}
MOBILE_AGENT = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/{major}.0.0.0 Mobile Safari/537.36"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentitySettings:
    """The settings of the identity."""

    user_agent: str | None = None
    user_agents: tuple[str, ...] = ()
    """More user agents; each page gets a random one of all."""
    accept_language: str = "en-US,en"
    locale: str = "en-US"
    timezone_id: str | None = None
    extra_headers: tuple[tuple[str, str], ...] = ()
    stealth_script: str | None = None
    """Run in every page of the stealth tier before its own scripts."""

    def __post_init__(self) -> None:
        """Check the values; raise ValueError if one is not valid."""
        write_locale(self.locale)
        if self.timezone_id and not _TIME_ZONE.fullmatch(self.timezone_id):
            raise ValueError(f"browser.timezone-id: {self.timezone_id!r} is no time zone's name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The identity of one visit."""

    user_agent: str
    accept_language: str
    locale: str
    timezone_id: str | None
    is_mobile: bool
    headers: dict[str, str] = field(default_factory=dict)
    script: str | None = None

    def commands(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the commands that apply this identity to a tab. Any: the protocol's JSON."""
        agent: dict[str, Any] = {
            "userAgent": self.user_agent,
            "acceptLanguage": self.accept_language,
            "platform": _PLATFORM_NAMES.get(_platform(self.user_agent), "Linux x86_64"),
        }
        if match := _CHROME.search(self.user_agent):  # other browsers send no client hints
            brands = [
                {"brand": "Not)A;Brand", "version": "8"},
                {"brand": "Chromium", "version": match[1]},
                {"brand": "Google Chrome", "version": match[1]},
            ]
            agent["userAgentMetadata"] = {
                "brands": brands,
                "fullVersionList": [b | {"version": f"{b['version']}.0.0.0"} for b in brands],
                "platform": _platform(self.user_agent),
                "platformVersion": "",
                "architecture": "" if self.is_mobile else "x86",
                "bitness": "" if self.is_mobile else "64",
                "model": "K" if self.is_mobile else "",
                "mobile": self.is_mobile,
            }
        commands: list[tuple[str, dict[str, Any]]] = [
            ("Emulation.setUserAgentOverride", agent),
            ("Emulation.setLocaleOverride", {"locale": write_locale(self.locale)}),
        ]
        if self.timezone_id:
            commands.append(("Emulation.setTimezoneOverride", {"timezoneId": self.timezone_id}))
        if self.headers:
            commands.append(("Network.setExtraHTTPHeaders", {"headers": self.headers}))
        if self.script:
            commands.append(("Page.addScriptToEvaluateOnNewDocument", {"source": self.script}))
        if self.is_mobile:
            commands.append(("Emulation.setDeviceMetricsOverride", _MOBILE_SCREEN))
            commands.append(("Emulation.setTouchEmulationEnabled", {"enabled": True}))
        return commands


def choose_identity(
    settings: IdentitySettings, *, own_agent: str, tier: ProxyTier, is_mobile: bool
) -> Identity:
    """Return the identity of one visit; `own_agent` is the browser's own user agent."""
    agents = tuple(filter(None, (settings.user_agent, *settings.user_agents)))
    if is_mobile:
        agents = tuple(agent for agent in agents if "Mobile" in agent)
    # Real browsers write only the major version.
    agent = _CHROME.sub(r"Chrome/\1.0.0.0", own_agent.replace("HeadlessChrome", "Chrome"))
    if agents:
        agent = random.choice(agents)  # noqa: S311 - not a secret
    elif is_mobile:
        match = _CHROME.search(agent)
        agent = MOBILE_AGENT.format(major=match[1] if match else "120")
    return Identity(
        user_agent=agent,
        accept_language=settings.accept_language,
        locale=settings.locale,
        timezone_id=settings.timezone_id,
        is_mobile=is_mobile,
        headers=dict(settings.extra_headers),
        script=settings.stealth_script if tier is ProxyTier.STEALTH else None,
    )


def write_locale(locale: str) -> str:
    """Return a locale as Chromium expects it: `de-at` as `de_AT`.

    Raises:
        ValueError: it is not a locale.
    """
    match = _LOCALE.fullmatch(locale)
    if match is None:
        raise ValueError(f"browser.locale: {locale!r} is no locale, such as en-US")
    language, script, region = match.groups()
    parts = (language.lower(), script and script.title(), region and region.upper())
    return "_".join(part for part in parts if part)


def _platform(agent: str) -> str:
    names = {"Android": "Android", "Windows": "Windows", "Macintosh": "macOS", "CrOS": "Chrome OS"}
    return next((name for mark, name in names.items() if mark in agent), "Linux")


_AGENT = ("user-agent", "accept-language")


class CallerHeaders:
    """The headers of one request, by the sites that may get them."""

    def __init__(self, url: str, headers: Iterable[tuple[str, str]]) -> None:
        self._url = url
        self.origin = origin_of(url)
        by_name = {name.lower(): (name, value) for name, value in headers}
        self.user_agent = by_name.get("user-agent", ("", ""))[1] or None
        self.accept_language = by_name.get("accept-language", ("", ""))[1] or None
        self._cookie = by_name.get("cookie", ("", ""))[1]
        others = [pair for name, pair in by_name.items() if name not in (*_AGENT, "cookie")]
        self.open = {name: value for name, value in others if not is_secret_header(name)}
        """The headers to send with every request of the page."""
        self._secret = {name: value for name, value in others if is_secret_header(name)}
        self.has_secrets = bool(self._secret)
        """Whether requests must be intercepted; the browser sends cookies to their site only."""

    def is_for(self, url: str) -> bool:
        """Whether this is the requested page."""
        return url.partition("#")[0] == self._url.partition("#")[0]

    async def set_cookies(self, session: CdpSession) -> None:
        """Set the cookies in a tab, for their site only."""
        if not self._cookie:
            return
        pairs = (part.strip().partition("=") for part in self._cookie.split(";"))
        is_secure = self.origin.startswith("https:")
        cookies = [
            {
                "name": name.strip(),
                "value": value.strip(),
                "url": self._url,
                "path": "/",
                "secure": is_secure,
            }
            for name, equals, value in pairs
            if equals and name.strip()
        ]
        await session.send("Network.setCookies", cookies=cookies)

    def change(self, request: CdpMessage) -> dict[str, list[dict[str, str]]]:
        """Return the changes to a request: it gets the secrets if it goes to their site.

        Chromium removes them by itself when that site redirects to another.
        """
        try:
            if origin_of(request["url"]) != self.origin:
                return {}
        except ValueError:
            return {}
        secret = {name.lower() for name in self._secret}
        sent = request["headers"].items()
        headers = {name: value for name, value in sent if name.lower() not in secret} | self._secret
        return {"headers": [{"name": name, "value": value} for name, value in headers.items()]}
