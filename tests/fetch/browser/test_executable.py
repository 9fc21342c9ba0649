"""Finding Chromium."""

from pathlib import Path

import pytest

from cinder.errors import BrowserUnavailable
from cinder.fetch.browser.executable import BrowserFinder, Executable


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
