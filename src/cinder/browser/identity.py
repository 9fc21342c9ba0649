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
# What `navigator.platform` says on each platform.
_PLATFORM_NAMES = {"Windows": "Win32", "macOS": "MacIntel", "Android": "Linux armv81"}
_CHROME = re.compile(r"Chrome/(\d+)([\d.]*)")
_MOBILE_WIDTH, _MOBILE_HEIGHT = 412, 915
MOBILE_AGENT = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/{major}.0.0.0 Mobile Safari/537.36"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentitySettings:
    """The owner's choices of identity."""

    user_agent: str | None = None
    user_agents: tuple[str, ...] = ()
    """Agents of which each page gets one by chance; `user_agent` goes first."""
    accept_language: str = "en-US,en"
    locale: str = "en-US"
    timezone_id: str | None = None
    extra_headers: tuple[tuple[str, str], ...] = ()
    stealth_script: str | None = None
    """Run in every page of the stealth tier before its own scripts."""

    def __post_init__(self) -> None:
        """Raise ValueError where a value can be none of what it should be."""
        write_locale(self.locale)
        if self.timezone_id and not _TIME_ZONE.fullmatch(self.timezone_id):
            raise ValueError(f"browser.timezone-id: {self.timezone_id!r} is no time zone's name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What one visit shows of itself."""

    user_agent: str
    accept_language: str
    locale: str
    timezone_id: str | None
    is_mobile: bool
    headers: dict[str, str] = field(default_factory=dict)
    script: str | None = None

    def commands(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the commands that put this identity on a tab. Any: the protocol's JSON."""
        commands: list[tuple[str, dict[str, Any]]] = [
            ("Emulation.setUserAgentOverride", self._agent_override()),
            ("Emulation.setLocaleOverride", {"locale": write_locale(self.locale)}),
        ]
        if self.timezone_id:
            commands.append(("Emulation.setTimezoneOverride", {"timezoneId": self.timezone_id}))
        if self.headers:
            commands.append(("Network.setExtraHTTPHeaders", {"headers": self.headers}))
        if self.script:
            commands.append(("Page.addScriptToEvaluateOnNewDocument", {"source": self.script}))
        if self.is_mobile:
            commands.append(("Emulation.setDeviceMetricsOverride", _mobile_screen()))
            commands.append(("Emulation.setTouchEmulationEnabled", {"enabled": True}))
        return commands

    def _agent_override(self) -> dict[str, Any]:
        override: dict[str, Any] = {
            "userAgent": self.user_agent,
            "acceptLanguage": self.accept_language,
            "platform": _PLATFORM_NAMES.get(_platform(self.user_agent), "Linux x86_64"),
        }
        if hints := _client_hints(self.user_agent, is_mobile=self.is_mobile):
            override["userAgentMetadata"] = hints
        return override


def choose_identity(
    settings: IdentitySettings, *, own_agent: str, tier: ProxyTier, is_mobile: bool
) -> Identity:
    """Return the identity for one visit; `own_agent` is what the browser calls itself."""
    agents = tuple(filter(None, (settings.user_agent, *settings.user_agents)))
    if is_mobile:
        agents = tuple(agent for agent in agents if "Mobile" in agent)
    honest = own_agent.replace("HeadlessChrome", "Chrome")
    agent = random.choice(agents) if agents else _shorten_version(honest)  # noqa: S311 - no secret
    if is_mobile and not agents:
        agent = MOBILE_AGENT.format(major=_major_version(honest))
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
    """Return a locale as Chromium takes it: `de-at` as `de_AT`.

    Raises:
        ValueError: it is none.
    """
    match = _LOCALE.fullmatch(locale)
    if match is None:
        raise ValueError(f"browser.locale: {locale!r} is no locale, such as en-US")
    language, script, region = match.groups()
    parts = (language.lower(), script and script.title(), region and region.upper())
    return "_".join(part for part in parts if part)


def _shorten_version(agent: str) -> str:
    """Write the version as real browsers do: the major number alone is true."""
    return _CHROME.sub(r"Chrome/\1.0.0.0", agent)


def _major_version(agent: str) -> str:
    match = _CHROME.search(agent)
    return match[1] if match else "120"


def _client_hints(agent: str, *, is_mobile: bool) -> dict[str, Any] | None:
    """Return the hints a Chrome of this name would send; none where the agent is no Chrome."""
    match = _CHROME.search(agent)
    if not match:
        return None
    major = match[1]
    brands = [
        {"brand": "Not)A;Brand", "version": "8"},
        {"brand": "Chromium", "version": major},
        {"brand": "Google Chrome", "version": major},
    ]
    return {
        "brands": brands,
        "fullVersionList": [b | {"version": f"{b['version']}.0.0.0"} for b in brands],
        "platform": _platform(agent),
        "platformVersion": "",
        "architecture": "" if is_mobile else "x86",
        "bitness": "" if is_mobile else "64",
        "model": "K" if is_mobile else "",
        "mobile": is_mobile,
    }


def _platform(agent: str) -> str:
    names = {"Android": "Android", "Windows": "Windows", "Macintosh": "macOS", "CrOS": "Chrome OS"}
    return next((name for mark, name in names.items() if mark in agent), "Linux")


def _mobile_screen() -> dict[str, Any]:
    return {
        "width": _MOBILE_WIDTH,
        "height": _MOBILE_HEIGHT,
        "deviceScaleFactor": 2,
        "mobile": True,
    }


_AGENT = ("user-agent", "accept-language")


class CallerHeaders:
    """The headers of one request, sorted by where they may go."""

    def __init__(self, url: str, headers: Iterable[tuple[str, str]]) -> None:
        self._url = url
        self.origin = origin_of(url)
        given = {name.lower(): (name, value) for name, value in headers}
        self.user_agent = given.get("user-agent", ("", ""))[1] or None
        self.accept_language = given.get("accept-language", ("", ""))[1] or None
        self._cookie = given.get("cookie", ("", ""))[1]
        self._others = [pair for name, pair in given.items() if name not in (*_AGENT, "cookie")]

    def is_for(self, url: str) -> bool:
        """Whether this is the page that they were given for."""
        return url.partition("#")[0] == self._url.partition("#")[0]

    @property
    def open(self) -> dict[str, str]:
        """What may go along with every request of the page."""
        return {name: value for name, value in self._others if not is_secret_header(name)}

    @property
    def _secret(self) -> list[tuple[str, str]]:
        return [(name, value) for name, value in self._others if is_secret_header(name)]

    @property
    def has_secrets(self) -> bool:
        """Whether requests must be looked at one by one; cookies keep to their site anyway."""
        return bool(self._secret)

    async def set_cookies(self, session: CdpSession) -> None:
        """Give a tab the cookies, for their site alone."""
        if self._cookie:
            await session.send("Network.setCookies", cookies=self._cookies())

    def _cookies(self) -> list[dict[str, str | bool]]:
        pairs = (part.strip().partition("=") for part in self._cookie.split(";"))
        is_secure = self.origin.startswith("https:")
        return [
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

    def change(self, request: CdpMessage) -> dict[str, list[dict[str, str]]]:
        """Return what to let a request go on with: the secrets if it goes to their site only.

        Chromium takes them off again by itself where that site redirects to another.
        """
        if _origin(request["url"]) != self.origin:
            return {}
        secret = {name.lower() for name, _ in self._secret}
        sent = request["headers"].items()
        others = {name: value for name, value in sent if name.lower() not in secret}
        return {"headers": _as_entries(others | dict(self._secret))}


def _origin(url: str) -> str | None:
    try:
        return origin_of(url)
    except ValueError:
        return None


def _as_entries(headers: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers.items()]
