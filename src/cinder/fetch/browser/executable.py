"""Finding Chromium on this machine: the lean headless shell, and the full browser for people."""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cinder.errors import BrowserUnavailable

# The binaries themselves: the scripts that distributions put in front of them stay around as a
# parent process, and then the process that was started is not the browser.
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
    """A browser's binary, and whether it is the shell that knows no windows."""

    path: Path
    is_shell: bool

    @classmethod
    def at(cls, path: Path) -> "Executable":
        """Describe a binary by its name."""
        return cls(path, "headless" in path.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserFinder:
    """Finds the browser to start; `executable` and `channel` are the owner's choice."""

    executable: Path | None = None
    channel: str = "auto"
    home: Path

    def find_headless(self) -> Executable:
        """Return the browser for pages that nobody looks at.

        Raises:
            BrowserUnavailable: there is none.
        """
        if self.channel == "auto" and self.executable is None and (shell := self._find_shell()):
            return shell
        return self.find_full() if self.channel != "headless-shell" else self._require_shell()

    def find_full(self) -> Executable:
        """Return the browser that can open windows and keeps a person's profile.

        Raises:
            BrowserUnavailable: there is none.
        """
        if self.executable is not None:
            return self._named(self.executable)
        found = _first(_BROWSERS, self._installed(_INSTALLED_BROWSERS), ("chromium", "chrome"))
        if found is None:
            raise BrowserUnavailable(f"No Chromium was found on this machine. {HOW_TO_INSTALL}")
        return Executable.at(found)

    def _find_shell(self) -> Executable | None:
        found = _first(
            _HEADLESS_SHELLS, self._installed(_INSTALLED_SHELLS), ("chrome-headless-shell",)
        )
        return None if found is None else Executable.at(found)

    def _require_shell(self) -> Executable:
        if self.executable is not None:
            return self._named(self.executable)
        if shell := self._find_shell():
            return shell
        raise BrowserUnavailable(f"No headless shell was found on this machine. {HOW_TO_INSTALL}")

    def _named(self, path: Path) -> Executable:
        if not path.is_file():
            raise BrowserUnavailable(
                f"The setting browser.executable-path names {path}, which is not there. "
                f"{HOW_TO_INSTALL}"
            )
        return Executable.at(path)

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
