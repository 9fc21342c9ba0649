"""What settings are made of: sections, and the kinds of values that several of them have."""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, SecretStr
from pydantic_settings import NoDecode

MEBIBYTE = 1024 * 1024


def _split_commas(value: object) -> object:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _absent_if_blank(value: object) -> object:
    # What `${TOKEN:-}` leaves in a compose file: no token, and not the token "".
    return None if isinstance(value, str) and not value.strip() else value


# NoDecode: pydantic-settings would otherwise insist on JSON for a list in the environment.
CommaSeparated: TypeAlias = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_commas)]
OptionalText: TypeAlias = Annotated[str | None, BeforeValidator(_absent_if_blank)]
OptionalSecret: TypeAlias = Annotated[SecretStr | None, BeforeValidator(_absent_if_blank)]


class Section(BaseModel):
    """A group of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
