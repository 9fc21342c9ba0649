"""The scripts that cinder runs beside a page's own, and how they are called."""

import json
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "scripts"


def call(name: str, *arguments: object) -> str:
    """Return the expression that calls the function in a script of ours."""
    return f"({read_script(name)})({', '.join(json.dumps(argument) for argument in arguments)})"


def wrap_script(expression: str, max_chars: int) -> str:
    """Return the expression that evaluates a caller's one and returns its result as JSON."""
    template = read_script("run_script")
    # The caller's script goes in last: it may hold either word itself.
    before, after = template.replace("LIMIT", str(max_chars)).split("SCRIPT")
    return f"{before}{expression}{after}"


@cache
def read_script(name: str) -> str:
    """Return the text of a script, without the comment it opens with."""
    text = (_FOLDER / f"{name}.js").read_text()
    return text.partition("\n")[2].strip() if text.startswith("//") else text.strip()
