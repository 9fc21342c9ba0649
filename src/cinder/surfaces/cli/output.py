"""Where a command's result goes: to standard output, or to a file."""

import re
import sys
from pathlib import Path

# What a terminal would obey rather than show; a page must not move anyone's cursor.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def write_text(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file."""
    if output is None:
        print(_CONTROLS.sub("\ufffd", text) if sys.stdout.isatty() else text)
    else:
        output.write_text(text + "\n")


def write_media(mime: str, data: bytes, output: Path | None) -> None:
    """Write a file's bytes to a file; without one, say what they are."""
    if output is None:
        print(f"{mime}, {len(data)} bytes. Use --output FILE to write it to a file.")
    else:
        output.write_bytes(data)
