"""Telling a value that a part cannot take from a part that fails."""

from collections.abc import Iterator
from contextlib import contextmanager

from cinder.config import SettingsError


@contextmanager
def reading_settings() -> Iterator[None]:
    """Turn what parts say of their values into an error of the settings."""
    try:
        yield
    except ValueError as error:
        raise SettingsError(str(error)) from error
