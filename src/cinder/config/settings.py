"""All settings, read once from cinder.toml, then CINDER_ variables, then the command line.

In cinder.toml a setting is written in kebab-case below its section; in the environment as
``CINDER_SECTION__SETTING``. `docs/settings.md` lists them all and a test keeps it true.
"""

import ipaddress
import os
import re
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from cinder.config.outbound import (
    BrowserSettings,
    EgressSettings,
    ExtractSettings,
    LlmSettings,
    ScrapeSettings,
    SearchSettings,
)
from cinder.config.serving import (
    JobsSettings,
    LimitsSettings,
    LogSettings,
    OauthSettings,
    ServerSettings,
    StoreSettings,
    WebhooksSettings,
)

CONFIG_VARIABLE = "CINDER_CONFIG"


# Python's stand-ins for the bytes of a variable that are not UTF-8.
_UNDECODED = re.compile("[\udc80-\udcff]")
# What parts call a setting that they cannot use: `egress.allow: …`.
_NAMED = re.compile(r"([a-z]+)\.([a-z]+(?:-[a-z]+)*)(?=: )")


class SettingsError(ValueError):
    """The settings cannot be used as they are: one line, which names the setting's variable."""

    def __init__(self, message: str) -> None:
        """Take what is wrong; a message that begins with a setting's name gets its variable."""
        line = " ".join(message.encode(errors="backslashreplace").decode().split())
        if named := _NAMED.match(line):
            variable = f"CINDER_{named[1]}__{named[2]}".upper().replace("-", "_")
            line = f"{named[0]} ({variable}){line[named.end() :]}"
        super().__init__(line)


class KebabTomlSource(TomlConfigSettingsSource):
    """A TOML file whose keys are written in kebab-case."""

    def _read_file(self, file_path: Any) -> dict[str, Any]:  # Any: as the parent has it
        # Sections and settings; tables below them are values, with keys such as names of headers.
        return {
            key: _snake_keys(value) if isinstance(value, dict) else value
            for key, value in _snake_keys(super()._read_file(file_path)).items()
        }


class _EnvironmentSource(EnvSettingsSource):
    """Variables; one that is not the JSON that it should be is left to validation to refuse."""

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        # Any: as the parent has it
        try:
            return super().decode_complex_value(field_name, field, value)
        except ValueError:
            return value


def _snake_keys(table: dict[str, Any]) -> dict[str, Any]:  # Any: whatever TOML holds
    return {key.replace("-", "_"): value for key, value in table.items()}


def default_data_dir() -> Path:
    """Return where cinder keeps its data unless told otherwise."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "cinder"


class Settings(BaseSettings):
    """Everything that can be configured."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        env_prefix="CINDER_",
        env_nested_delimiter="__",
    )

    data_dir: Annotated[Path, AfterValidator(Path.expanduser)] = Field(
        default_factory=default_data_dir
    )
    """Where cinder keeps its database, its token and everything else."""
    server: ServerSettings = Field(default_factory=ServerSettings)
    store: StoreSettings = Field(default_factory=StoreSettings)
    egress: EgressSettings = Field(default_factory=EgressSettings)
    scrape: ScrapeSettings = Field(default_factory=ScrapeSettings)
    browser: BrowserSettings = Field(default_factory=BrowserSettings)
    jobs: JobsSettings = Field(default_factory=JobsSettings)
    webhooks: WebhooksSettings = Field(default_factory=WebhooksSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    llm: LlmSettings = Field(default_factory=LlmSettings)
    extract: ExtractSettings = Field(default_factory=ExtractSettings)
    oauth: OauthSettings = Field(default_factory=OauthSettings)
    limits: LimitsSettings = Field(default_factory=LimitsSettings)
    log: LogSettings = Field(default_factory=LogSettings)

    @property
    def store_url(self) -> str:
        """The database to use."""
        return self.store.url or f"sqlite:///{self.data_dir / 'cinder.db'}"

    @property
    def browser_root(self) -> Path:
        """Where browsers keep their user data."""
        return self.browser.master_user_data_root or self.data_dir / "browser"

    @property
    def is_loopback(self) -> bool:
        """Whether the server listens on this machine alone."""
        if self.server.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.server.host).is_loopback
        except ValueError:
            return False

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the framework's signature
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the same
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the same
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: command line over environment over file."""
        file = KebabTomlSource(settings_cls, _config_file())
        return init_settings, _EnvironmentSource(settings_cls), file


def read_settings(**overrides: Any) -> Settings:  # Any: whatever the fields take
    """Read the settings; keyword arguments, by section, win over file and environment.

    Raises:
        SettingsError: they are not valid; the message names what is wrong.
    """
    for name, value in os.environ.items():
        if name.startswith("CINDER_") and _UNDECODED.search(value):
            raise SettingsError(f"{name} is not valid UTF-8. See docs/settings.md.")
    try:
        return Settings(**overrides)
    except ValidationError as error:
        raise SettingsError(f"{_describe(error)}. See docs/settings.md.") from error
    except (TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{_config_file()} is not valid TOML: {error}") from error


def environment() -> dict[str, str]:
    """Return the variables for the programs that cinder starts."""
    return dict(os.environ)


def unknown_variables() -> list[str]:
    """Return the variables that look like settings and belong to no section of them."""
    sections = tuple(f"CINDER_{name.upper()}" for name in Settings.model_fields)
    return [
        name
        for name in sorted(os.environ)
        if name.startswith("CINDER_")
        and name != CONFIG_VARIABLE
        and not any(name == section or name.startswith(f"{section}__") for section in sections)
    ]


def _config_file() -> Path:
    named = os.environ.get(CONFIG_VARIABLE)
    if named and not Path(named).exists():
        raise SettingsError(f"{CONFIG_VARIABLE} names {named}, which does not exist")
    return Path(named or "cinder.toml")


def _describe(error: ValidationError) -> str:
    problems = []
    for detail in error.errors(include_url=False):
        is_unknown = detail["type"] == "extra_forbidden"
        problem = detail["msg"].removeprefix("Value error, ")
        if detail["type"] in ("dict_type", "model_type"):
            problem = "In the environment it is a JSON object, in cinder.toml a table"
        said = "there is no such setting" if is_unknown else problem
        # What a section says of its settings names their variables itself.
        is_of_section = detail["type"] == "value_error" and len(detail["loc"]) == 1
        name = str(detail["loc"][0]) if is_of_section else _name(detail["loc"])
        problems.append(f"{name}: {said}")
    return f"The settings are not valid: {'; '.join(problems)}"


def _name(place: tuple[int | str, ...]) -> str:
    """Return a setting's name as the file has it, and that of its variable."""
    # A section, a setting in it, and below that the keys and places within the setting's value.
    parts = [
        str(part) if depth > 1 else str(part).replace("_", "-") for depth, part in enumerate(place)
    ]
    variable = "__".join(str(part) for part in place[:2]).upper()
    return f"{'.'.join(parts)} (CINDER_{variable})"
