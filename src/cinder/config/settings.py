"""All settings, read once from cinder.toml, then CINDER_ variables, then the command line.

In cinder.toml settings are written in kebab-case in the table of their section, in the environment
as ``CINDER_SECTION__SETTING``. `docs/settings.md` lists them all, which a test checks.
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
    MapSettings,
    OauthSettings,
    ServerSettings,
    StoreSettings,
    WebhooksSettings,
)
from cinder.errors import SettingsError

CONFIG_VARIABLE = "CINDER_CONFIG"


# Python's surrogates for the bytes of a variable that are not UTF-8.
_UNDECODED = re.compile("[\udc80-\udcff]")


class KebabTomlSource(TomlConfigSettingsSource):
    """A TOML file with keys in kebab-case."""

    def _read_file(self, file_path: Any) -> dict[str, Any]:  # Any: the parent's types
        # Sections and settings; tables below them are values, with keys such as header names.
        return {
            key: _snake_keys(value) if isinstance(value, dict) else value
            for key, value in _snake_keys(super()._read_file(file_path)).items()
        }


class _EnvironmentSource(EnvSettingsSource):
    """Variables; those that should be JSON and are not are refused by validation."""

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        # Any: the parent's types
        try:
            return super().decode_complex_value(field_name, field, value)
        except ValueError:
            return value


def _snake_keys(table: dict[str, Any]) -> dict[str, Any]:  # Any: TOML values
    return {key.replace("-", "_"): value for key, value in table.items()}


def default_data_dir() -> Path:
    """Return the default data directory."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "cinder"


class Settings(BaseSettings):
    """Everything that can be configured."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
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
    map: MapSettings = Field(default_factory=MapSettings)
    webhooks: WebhooksSettings = Field(default_factory=WebhooksSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    llm: LlmSettings = Field(default_factory=LlmSettings)
    extract: ExtractSettings = Field(default_factory=ExtractSettings)
    oauth: OauthSettings = Field(default_factory=OauthSettings)
    limits: LimitsSettings = Field(default_factory=LimitsSettings)
    log: LogSettings = Field(default_factory=LogSettings)

    @property
    def store_url(self) -> str:
        """The URL of the database."""
        return self.store.url or f"sqlite:///{self.data_dir / 'cinder.db'}"

    @property
    def browser_root(self) -> Path:
        """The folder of the browsers' profiles."""
        return self.browser.master_user_data_root or self.data_dir / "browser"

    @property
    def is_loopback(self) -> bool:
        """Whether the server listens on loopback only."""
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
        SettingsError: they are not valid; the message names the setting.
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
    """Return the CINDER_ variables that are not settings of any section."""
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
        if is_unknown:
            problem = "there is no such setting"
        section, *rest = map(str, detail["loc"])
        if detail["type"] == "value_error" and not rest:
            name = section  # the messages of a section name the variables themselves
        else:
            # A section, a setting in it, and then keys and indexes within the setting's value.
            parts = [part.replace("_", "-") for part in (section, *rest[:1])] + rest[1:]
            variable = "__".join((section, *rest[:1])).upper()
            name = f"{'.'.join(parts)} (CINDER_{variable})"
        problems.append(f"{name}: {problem}")
    return f"The settings are not valid: {'; '.join(problems)}"
