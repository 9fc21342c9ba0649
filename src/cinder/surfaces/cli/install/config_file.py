"""A client's file: read, kept beside itself, and written whole or not at all."""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile

from cinder.surfaces.cli.install.base import CannotKeep

# It may hold a token.
_OWNER_ONLY = 0o600


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The file of a client; where the path is a link, what it leads to."""

    path: Path

    def read(self) -> str:
        """Return its text, nothing where there is no file.

        Raises:
            CannotKeep: it is not text.
        """
        try:
            # Line ends stay what they are.
            return self.path.read_bytes().decode()
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError:
            raise CannotKeep("it is not UTF-8") from None

    def replace(self, text: str) -> Path | None:
        """Write the file anew; return where what it held before is kept, None if there was none."""
        target = self.path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = _back_up(target) if target.exists() else None
        with NamedTemporaryFile("wb", dir=target.parent, prefix=".cinder-", delete=False) as file:
            draft = Path(file.name)
            try:
                file.write(text.encode())
                file.flush()
                draft.chmod(target.stat().st_mode & 0o777 if backup else _OWNER_ONLY)
                draft.replace(target)
            except BaseException:
                with suppress(FileNotFoundError):
                    draft.unlink()
                raise
        return backup


def _back_up(path: Path) -> Path:
    """Copy a file beside itself, under a name that nothing has yet."""
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"
    backup = path.with_name(f"{path.name}.{stamp}.bak")
    shutil.copy2(path, backup)
    return backup
