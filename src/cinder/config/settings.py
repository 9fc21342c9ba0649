"""Settings: read once, from cinder.toml, then CINDER_… variables, then the command line.

In cinder.toml a setting is written in kebab-case below its section; in the environment as
``CINDER_SECTION__SETTING``. `docs/settings.md` lists them all and a test keeps it true.
"""

import ipaddress
import os
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from cinder.config.extracting import ExtractSettings, LlmSettings
from cinder.config.fetching import BrowserSettings, EgressSettings, ScrapeSettings
from cinder.config.keeping import JobsSettings, StoreSettings, WebhooksSettings
from cinder.config.searching import SearchSettings
from cinder.config.serving import LimitsSettings, LogSettings, OauthSettings, ServerSettings

CONFIG_VARIABLE = "CINDER_CONFIG"


class SettingsError(ValueError):
    """The settings cannot be used as they are."""


class KebabTomlSource(TomlConfigSettingsSource):
    """A TOML file whose keys are written in kebab-case."""

    def _read_file(self, file_path: Any) -> dict[str, Any]:  # Any: as the parent has it
        # Sections and settings; tables below them are values, with keys such as names of headers.
        return {
            key: _snake_keys(value) if isinstance(value, dict) else value
            for key, value in _snake_keys(super()._read_file(file_path)).items()
        }


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
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the framework's signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the same
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: command line over environment over file."""
        return init_settings, env_settings, KebabTomlSource(settings_cls, _config_file())


def read_settings(**overrides: Any) -> Settings:  # Any: whatever the fields take
    """Read the settings; keyword arguments, by section, win over file and environment.

    Raises:
        SettingsError: they are not valid; the message names what is wrong.
    """
    try:
        return Settings(**overrides)
    except ValidationError as error:
        raise SettingsError(f"{_describe(error)}. See docs/settings.md.") from error
    except TOMLDecodeError as error:
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
        name = ".".join(str(part).replace("_", "-") for part in detail["loc"])
        is_unknown = detail["type"] == "extra_forbidden"
        problem = detail["msg"].removeprefix("Value error, ")
        problems.append(f"{name}: {'there is no such setting' if is_unknown else problem}")
    return f"The settings are not valid: {'; '.join(problems)}"
