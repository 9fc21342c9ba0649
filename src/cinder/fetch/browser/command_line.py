"""The browser's command line: what every browser must have, what it has by default, what is added.

The required part closes every way round the egress proxy; no setting takes it away.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# The only name that a browser can resolve. It cannot connect to anything else by itself, address
# literals included, whatever becomes of its proxy settings: contexts lose theirs when Chromium's
# network process crashes.
_PROXY_HOST = "cinder-egress.invalid"

_REQUIRED = (
    "--remote-debugging-pipe",
    # Loopback would go round the proxy otherwise.
    "--proxy-bypass-list=<-loopback>",
    f"--host-resolver-rules=MAP {_PROXY_HOST} 127.0.0.1, MAP * ~NOTFOUND",
    "--disable-quic",
    # Multicast on the local network: a page could have names asked for there, and a full browser
    # looks for televisions.
    "--disable-features=WebRtcHideLocalIpsWithMdns,MediaRouter,DialMediaRouteProvider",
    # The shell reads the one, the full browser the other.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    # What Chromium would say of itself to its makers.
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
    # Of pages that declare none. Chromium finds out all encodings but this one by itself.
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

# For browsers that nobody looks at: they draw on the processor, keep working when unseen, and a
# caller's pages share no process with another's even without a process for each site.
_UNSEEN = (
    "--disable-gpu",
    "--block-new-web-contents",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-hang-monitor",
    "--disable-renderer-backgrounding",
    "--font-render-hinting=none",
    "--hide-scrollbars",
    "--no-startup-window",
    "--window-size=1280,800",
)
# Crash reporters would leave the browser's session, and be nobody's to end. A full browser cannot
# do without: its network process then crashes, again and again.
_SHELL = ("--headless", "--disable-crashpad-for-testing")
_ONE_PROCESS_PER_CONTEXT = (
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
    "--disable-features=IsolateOrigins,site-per-process",
)
# What would take browsers off the proxy, or let others of this machine command them.
_FORBIDDEN = (
    "--no-proxy-server",
    "--proxy-auto-detect",
    "--proxy-pac-url",
    "--proxy-server",
    "--remote-debugging-address",
    "--remote-debugging-port",
    "--user-data-dir",
)
# Given more than once, their values are joined.
_LISTS = ("--blink-settings", "--disable-features", "--enable-features")


def name_proxy(url: str) -> str:
    """Return the proxy's URL under the one name that browsers can resolve."""
    return f"http://{_PROXY_HOST}:{url.rpartition(':')[2]}"


def check_added(arguments: Sequence[str], setting: str = "browser.launch-args") -> tuple[str, ...]:
    """Return the owner's own arguments if they leave the browser behind the egress proxy.

    Raises:
        ValueError: one of them does not.
    """
    own = {_switch(argument) for argument in _REQUIRED} | set(_FORBIDDEN)
    for argument in arguments:
        if _switch(argument) in own - set(_LISTS):
            message = f"{setting}: {argument!r} is not for settings: it guards the egress proxy"
            raise ValueError(message)
    return tuple(arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """The owner's choices for the command line."""

    added: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    without_defaults: bool = False
    no_sandbox: bool = False

    def __post_init__(self) -> None:
        check_added(self.added)

    def headless(self, *, profile: Path, proxy_url: str, is_shell: bool) -> list[str]:
        """Return the arguments for a browser that renders for callers."""
        defaults = (*_DEFAULT, *_UNSEEN, *_ONE_PROCESS_PER_CONTEXT)
        mode = _SHELL if is_shell else ("--headless=new",)
        return [*mode, *self._arguments(profile, proxy_url, defaults)]

    def master(self, *, profile: Path, proxy_url: str) -> list[str]:
        """Return the arguments for a headless browser on a person's profile."""
        return ["--headless=new", *self._arguments(profile, proxy_url, (*_DEFAULT, *_UNSEEN))]

    def headed(self, *, profile: Path, proxy_url: str, added: Sequence[str]) -> list[str]:
        """Return the arguments for a browser window on a person's profile."""
        return self._arguments(profile, proxy_url, _DEFAULT, check_added(added))

    def _arguments(
        self, profile: Path, proxy_url: str, defaults: Sequence[str], added: Sequence[str] = ()
    ) -> list[str]:
        chosen = () if self.without_defaults else defaults
        return _merge_features(
            [
                *_REQUIRED,
                f"--user-data-dir={profile}",
                f"--proxy-server={name_proxy(proxy_url)}",
                *(("--no-sandbox",) if self.no_sandbox else ()),
                *(argument for argument in chosen if argument not in self.left_out),
                *self.added,
                *added,
            ]
        )


def _merge_features(arguments: Sequence[str]) -> list[str]:
    """Join lists of features and settings: Chromium heeds only the last argument of each kind."""
    joined = []
    for name in _LISTS:
        values = [a.partition("=")[2] for a in arguments if _switch(a) == name]
        if values:
            joined.append(f"{name}={','.join(values)}")
    return [*joined, *(a for a in arguments if _switch(a) not in _LISTS)]


def _switch(argument: str) -> str:
    # Chromium takes one dash for two.
    return "--" + argument.partition("=")[0].lstrip("-")
