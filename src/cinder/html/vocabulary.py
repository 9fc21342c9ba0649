"""The word lists of `vocabulary.toml`, which is read once."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def load_vocabulary() -> dict[str, Any]:  # Any: sections hold lists of words, or a table
    """Return the sections of the vocabulary."""
    return tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text("utf-8"))


def class_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern for a list of words in class names, between spaces, hyphens, underscores."""
    words = "|".join(load_vocabulary()["hidden_text"][name])
    return re.compile(rf"(?:^|[\s_-])(?:{words})(?:$|[\s_-])", re.IGNORECASE)
