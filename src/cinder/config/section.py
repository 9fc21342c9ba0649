"""The base class of settings sections, and the value types that several sections share."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, SecretStr
from pydantic_settings import NoDecode

MEBIBYTE = 1024 * 1024


# Not `[::1]:8080`, which is an address.
_JSON_ARRAY = re.compile(r'\s*\[\s*["\]]')
_COMMA = re.compile(r",")
# `--window-size=800,600` and `--disable-features=One,Two` are one argument each.
_COMMA_BEFORE_ARGUMENT = re.compile(r",(?=\s*(?:-|,|$))")
# `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)` is one user agent.
_COMMA_OUTSIDE_PARENTHESES = re.compile(r",(?![^()]*\))")


def _split_with(separator: re.Pattern[str]) -> Callable[[object], object]:
    """Return a validator that parses a list from a text: comma-separated or a JSON array."""

    def split(value: object) -> object:
        if not isinstance(value, str):
            return value
        if _JSON_ARRAY.match(value):
            try:
                return json.loads(value)
            except ValueError as error:
                raise ValueError(f"Not a JSON array: {error}") from None
        return [part.strip() for part in separator.split(value) if part.strip()]

    return split


def _absent_if_blank(value: object) -> object:
    # `${TOKEN:-}` in a compose file leaves a blank text, which means no token.
    return None if isinstance(value, str) and not value.strip() else value


# NoDecode: else pydantic-settings requires JSON for a list in the environment.
CommaSeparated: TypeAlias = Annotated[
    tuple[str, ...], NoDecode, BeforeValidator(_split_with(_COMMA))
]
CommaSeparatedPaths: TypeAlias = Annotated[
    tuple[Path, ...], NoDecode, BeforeValidator(_split_with(_COMMA))
]
CommaSeparatedArguments: TypeAlias = Annotated[
    tuple[str, ...], NoDecode, BeforeValidator(_split_with(_COMMA_BEFORE_ARGUMENT))
]
CommaSeparatedUserAgents: TypeAlias = Annotated[
    tuple[str, ...], NoDecode, BeforeValidator(_split_with(_COMMA_OUTSIDE_PARENTHESES))
]
OptionalText: TypeAlias = Annotated[str | None, BeforeValidator(_absent_if_blank)]
OptionalSecret: TypeAlias = Annotated[SecretStr | None, BeforeValidator(_absent_if_blank)]


class SettingsSection(BaseModel):
    """A group of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")
