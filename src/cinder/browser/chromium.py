"""Chromium on this machine: its executable, and the command line it is started with.

The required arguments prevent Chromium from bypassing the egress proxy; no setting removes them.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cinder.errors import BrowserUnavailable

# The binaries themselves: the wrapper scripts of distributions stay as a parent process, and then
# the started process is not the browser.
_HEADLESS_SHELLS = (
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib64/chromium-browser/headless_shell",
)
_BROWSERS = (
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
# Where Playwright's installer puts its browsers, below its cache.
_INSTALLED_SHELLS = ("chromium_headless_shell-*/*/headless_shell", "*/*/chrome-headless-shell")
_INSTALLED_BROWSERS = ("chromium-*/chrome-linux*/chrome", "chromium-*/*/*.app/Contents/MacOS/*")
_INSTALLER_CACHES = (".cache/ms-playwright", "Library/Caches/ms-playwright")

HOW_TO_INSTALL = (
    "Install one (on Debian and Ubuntu: `apt-get install chromium chromium-headless-shell`; "
    "anywhere: `npx playwright install chromium`), or name it in the setting "
    "browser.executable-path. `cinder doctor` tells whether it works."
)


@dataclass(frozen=True, slots=True)
class Executable:
    """A browser's binary, and whether it is the headless shell."""

    path: Path
    is_shell: bool

    @classmethod
    def at(cls, path: Path) -> "Executable":
        """Describe a binary by its name."""
        return cls(path, "headless" in path.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserFinder:
    """Finds the browser to start; `executable` and `channel` are settings."""

    executable: Path | None = None
    channel: str = "auto"
    home: Path

    def find_headless(self) -> Executable:
        """Return the browser that renders pages without a window.

        Raises:
            BrowserUnavailable: there is none.
        """
        if self.executable is None and self.channel in ("auto", "headless-shell"):
            installed = self._installed(_INSTALLED_SHELLS)
            if found := _first(_HEADLESS_SHELLS, installed, ("chrome-headless-shell",)):
                return Executable.at(found)
            if self.channel == "headless-shell":
                raise BrowserUnavailable(
                    f"No headless shell was found on this machine. {HOW_TO_INSTALL}"
                )
        return self.find_full()

    def find_full(self) -> Executable:
        """Return the browser that can open windows, and is used on a person's profile.

        Raises:
            BrowserUnavailable: there is none.
        """
        if self.executable is None:
            found = _first(_BROWSERS, self._installed(_INSTALLED_BROWSERS), ("chromium", "chrome"))
            if found is None:
                raise BrowserUnavailable(f"No Chromium was found on this machine. {HOW_TO_INSTALL}")
            return Executable.at(found)
        if not self.executable.is_file():
            raise BrowserUnavailable(
                f"The setting browser.executable-path names {self.executable}, which is not there. "
                f"{HOW_TO_INSTALL}"
            )
        return Executable.at(self.executable)

    def _installed(self, patterns: Sequence[str]) -> Iterable[str]:
        for cache in _INSTALLER_CACHES:
            for pattern in patterns:
                yield from (str(path) for path in sorted((self.home / cache).glob(pattern)))


def _first(*groups: Iterable[str]) -> Path | None:
    *places, commands = groups
    for group in places:
        for place in group:
            if Path(place).is_file():
                return Path(place)
    found = (shutil.which(command) for command in commands)
    return next((Path(path).resolve() for path in found if path), None)


# The only name that a browser can resolve. It cannot connect to anything else by itself, not even
# to an IP address, if it loses its proxy settings: contexts do when Chromium's network process
# crashes.
_PROXY_HOST = "cinder-egress.invalid"

_REQUIRED = (
    "--remote-debugging-pipe",
    # Else requests to loopback bypass the proxy.
    "--proxy-bypass-list=<-loopback>",
    f"--host-resolver-rules=MAP {_PROXY_HOST} 127.0.0.1, MAP * ~NOTFOUND",
    "--disable-quic",
    # No multicast on the local network, for names of pages or for media devices.
    "--disable-features=WebRtcHideLocalIpsWithMdns,MediaRouter,DialMediaRouteProvider",
    # The shell reads the one, the full browser the other.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    # No requests of Chromium's own.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--no-pings",
    # A profile must open the same way for a person and for a worker, on any desktop or none.
    "--password-store=basic",
    "--use-mock-keychain",
)

_DEFAULT = (
    # For pages without an encoding. Chromium detects all encodings but this one.
    "--blink-settings=defaultTextEncodingName=UTF-8",
    "--disable-blink-features=AutomationControlled",
    "--disable-client-side-phishing-detection",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-features=OptimizationHints,Translate",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
)

# For browsers without a window: they render without a GPU, are not throttled in the background,
# and callers share no process even without site isolation.
_UNSEEN = (
    "--disable-gpu",
    "--block-new-web-contents",
    # Else pages outlive their navigation, frozen.
    "--disable-back-forward-cache",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-hang-monitor",
    "--disable-renderer-backgrounding",
    "--font-render-hinting=none",
    "--hide-scrollbars",
    "--no-startup-window",
    "--window-size=1280,800",
)
# Crash reporters would leave the browser's session, and outlive it. A full browser needs them: its
# network process crashes repeatedly without.
_SHELL = ("--headless", "--disable-crashpad-for-testing")
_ONE_PROCESS_PER_CONTEXT = (
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
    "--disable-features=IsolateOrigins,site-per-process",
    # Else each navigation makes a new frame in the renderer, for a fifth of a page's CPU time.
    "--disable-features=RenderDocument",
)
# Switches that bypass the proxy, or let other processes control the browser.
_FORBIDDEN = (
    "--no-proxy-server",
    "--proxy-auto-detect",
    "--proxy-pac-url",
    "--proxy-server",
    "--remote-debugging-address",
    "--remote-debugging-port",
    "--user-data-dir",
)
# The values of repeated switches are joined: Chromium uses only the last one of each.
_LISTS = ("--blink-settings", "--disable-features", "--enable-features")


def proxy_url_for_browser(url: str) -> str:
    """Return the proxy's URL with the only name that browsers can resolve."""
    return f"http://{_PROXY_HOST}:{url.rpartition(':')[2]}"


def check_extra_arguments(
    arguments: Sequence[str], setting: str = "browser.launch-args"
) -> tuple[str, ...]:
    """Return the owner's arguments if they do not bypass the egress proxy.

    Raises:
        ValueError: an argument is not allowed.
    """
    own = {_switch(argument) for argument in _REQUIRED} | set(_FORBIDDEN)
    for argument in arguments:
        if _switch(argument) in own - set(_LISTS):
            message = f"{setting}: {argument!r} is not for settings: it guards the egress proxy"
            raise ValueError(message)
    return tuple(arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """The settings of the command line."""

    added: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    without_defaults: bool = False
    no_sandbox: bool = False

    def __post_init__(self) -> None:
        check_extra_arguments(self.added)

    def headless(self, *, profile: Path, proxy_url: str, is_shell: bool) -> list[str]:
        """Return the arguments for a browser that renders callers' pages."""
        defaults = (*_DEFAULT, *_UNSEEN, *_ONE_PROCESS_PER_CONTEXT)
        mode = _SHELL if is_shell else ("--headless=new",)
        return [*mode, *self._arguments(profile, proxy_url, defaults)]

    def master(self, *, profile: Path, proxy_url: str) -> list[str]:
        """Return the arguments for a headless browser on a person's profile."""
        return ["--headless=new", *self._arguments(profile, proxy_url, (*_DEFAULT, *_UNSEEN))]

    def headed(self, *, profile: Path, proxy_url: str, added: Sequence[str]) -> list[str]:
        """Return the arguments for a browser window on a person's profile."""
        return self._arguments(profile, proxy_url, _DEFAULT, check_extra_arguments(added))

    def _arguments(
        self, profile: Path, proxy_url: str, defaults: Sequence[str], added: Sequence[str] = ()
    ) -> list[str]:
        chosen = () if self.without_defaults else defaults
        arguments = [
            *_REQUIRED,
            f"--user-data-dir={profile}",
            f"--proxy-server={proxy_url_for_browser(proxy_url)}",
            *(("--no-sandbox",) if self.no_sandbox else ()),
            *(argument for argument in chosen if argument not in self.left_out),
            *self.added,
            *added,
        ]
        joined = []
        for name in _LISTS:
            values = [a.partition("=")[2] for a in arguments if _switch(a) == name]
            if values:
                joined.append(f"{name}={','.join(values)}")
        return [*joined, *(a for a in arguments if _switch(a) not in _LISTS)]


def _switch(argument: str) -> str:
    # Chromium accepts one dash as well.
    return "--" + argument.partition("=")[0].lstrip("-")
