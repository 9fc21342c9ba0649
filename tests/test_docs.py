"""The documents say what the code does."""

from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from cinder.config import Section, Settings

ROOT = Path(__file__).parent.parent
SETTINGS_PAGE = (ROOT / "docs" / "settings.md").read_text()


def rows() -> list[str]:
    """The table rows that docs/settings.md must have, one for each setting."""
    found = [_row(("data_dir",), Settings.model_fields["data_dir"])]
    for section_name, section in Settings.model_fields.items():
        model = section.annotation
        if isinstance(model, type) and issubclass(model, Section):
            found += [_row((section_name, name), info) for name, info in _fields(model)]
    return found


def _fields(model: type[BaseModel]) -> list[tuple[str, FieldInfo]]:
    return list(model.model_fields.items())


def _row(path: tuple[str, ...], info: FieldInfo) -> str:
    name = ".".join(path).replace("_", "-")
    variable = "CINDER_" + "__".join(path).upper()
    description = " ".join((info.description or "").split())
    return f"| `{name}` | `{variable}` | {_default(info)} | {description} |"


def _default(info: FieldInfo) -> str:
    value = info.default
    if info.default_factory is not None:
        return "`~/.local/share/cinder`"
    if value is None or value == () or isinstance(value, SecretStr):
        return "none"
    if isinstance(value, tuple):
        return f"`{','.join(value)}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


@pytest.mark.parametrize("row", rows())
def test_every_setting_is_documented_with_its_variable_and_default(row: str) -> None:
    assert row in SETTINGS_PAGE.splitlines()


def test_no_setting_is_documented_that_does_not_exist() -> None:
    documented = [line for line in SETTINGS_PAGE.splitlines() if line.startswith("| `")]
    assert documented == rows()
