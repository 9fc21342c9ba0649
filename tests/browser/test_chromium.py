"""Finding Chromium."""

from pathlib import Path

import pytest

from cinder.browser.chromium import (
    BrowserFinder,
    CommandLine,
    Executable,
    check_extra_arguments,
    proxy_url_for_browser,
)
from cinder.errors import BrowserUnavailable

PROXY = "http://127.0.0.1:4000"


def arguments_of(line: CommandLine) -> dict[str, list[str]]:
    """The arguments of each kind of browser."""
    profile = Path("/profile")
    return {
        "shell": line.headless(profile=profile, proxy_url=PROXY, is_shell=True),
        "headless": line.headless(profile=profile, proxy_url=PROXY, is_shell=False),
        "master": line.master(profile=profile, proxy_url=PROXY),
        "headed": line.headed(profile=profile, proxy_url=PROXY, added=()),
    }


@pytest.mark.parametrize("kind", ["shell", "headless", "master", "headed"])
def test_no_setting_takes_a_browser_off_the_egress_proxy(kind: str) -> None:
    everything = arguments_of(CommandLine())[kind]
    line = CommandLine(without_defaults=True, left_out=tuple(everything))
    kept = arguments_of(line)[kind]
    assert {
        "--proxy-server=http://cinder-egress.invalid:4000",
        "--proxy-bypass-list=<-loopback>",
        "--host-resolver-rules=MAP cinder-egress.invalid 127.0.0.1, MAP * ~NOTFOUND",
        "--disable-quic",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-features=WebRtcHideLocalIpsWithMdns,MediaRouter,DialMediaRouteProvider",
    } <= set(kept)


@pytest.mark.parametrize(
    "argument",
    [
        "--no-proxy-server",
        "--proxy-server=direct://",
        "-proxy-server=direct://",
        "--proxy-pac-url=http://pac.test",
        "--proxy-bypass-list=*",
        "--host-resolver-rules=",
        "--webrtc-ip-handling-policy=default",
        "--remote-debugging-port=9222",
        "--user-data-dir=/",
    ],
)
def test_an_argument_that_would_lead_round_the_egress_proxy_is_refused(argument: str) -> None:
    with pytest.raises(ValueError, match="egress proxy"):
        CommandLine(added=(argument,))
    with pytest.raises(ValueError, match="egress proxy"):
        check_extra_arguments([argument])


def test_lists_of_features_are_joined() -> None:
    line = CommandLine(
        added=("--disable-features=A", "--enable-features=B", "--disable-features=C,D")
    )
    merged = [a for a in arguments_of(line)["master"] if "-features=" in a and "blink" not in a]
    assert merged == [
        "--disable-features=WebRtcHideLocalIpsWithMdns,MediaRouter,DialMediaRouteProvider,"
        "OptimizationHints,Translate,A,C,D",
        "--enable-features=B",
    ]


def test_the_proxy_goes_by_the_one_name_that_browsers_can_resolve() -> None:
    assert proxy_url_for_browser(PROXY) == "http://cinder-egress.invalid:4000"


def test_pages_that_nobody_looks_at_get_the_lean_shell(tmp_path: Path) -> None:
    for channel in ("auto", "headless-shell"):
        found = BrowserFinder(channel=channel, home=tmp_path).find_headless()
        assert found.is_shell
        assert found.path.is_file()


def test_people_get_the_full_browser(tmp_path: Path) -> None:
    finder = BrowserFinder(channel="chromium", home=tmp_path)
    assert finder.find_full() == finder.find_headless()
    assert not finder.find_full().is_shell


@pytest.mark.parametrize("channel", ["auto", "headless-shell", "chromium"])
def test_the_browser_that_the_owner_names_is_taken(tmp_path: Path, channel: str) -> None:
    own = tmp_path / "my-browser"
    own.touch()
    finder = BrowserFinder(executable=own, channel=channel, home=tmp_path)
    assert [finder.find_headless(), finder.find_full()] == [Executable(own, is_shell=False)] * 2


@pytest.mark.parametrize("channel", ["auto", "headless-shell"])
def test_a_named_browser_that_is_not_there_is_told_of(tmp_path: Path, channel: str) -> None:
    finder = BrowserFinder(executable=tmp_path / "none", channel=channel, home=tmp_path)
    with pytest.raises(BrowserUnavailable, match=r"browser\.executable-path"):
        finder.find_headless()


def test_a_binary_is_known_as_a_shell_by_its_name() -> None:
    names = ("chrome-headless-shell", "headless_shell", "chromium")
    assert [Executable.at(Path("/opt") / name).is_shell for name in names] == [True, True, False]
