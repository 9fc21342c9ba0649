"""Where a command's result goes: to standard output, or to a file."""

from pathlib import Path


def write_text(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file."""
    if output is None:
        print(text)
    else:
        output.write_text(text + "\n")


def write_media(mime: str, data: bytes, output: Path | None) -> None:
    """Write a file's bytes to a file; without one, say what they are."""
    if output is None:
        print(f"{mime}, {len(data)} bytes. Use --output FILE to write it to a file.")
    else:
        output.write_bytes(data)
