"""Settings: a section of them for each subject, and how they are read."""

from cinder.config.extracting import ExtractSettings, LlmSettings
from cinder.config.fetching import BrowserSettings, EgressSettings, ScrapeSettings
from cinder.config.keeping import JobsSettings, StoreSettings, WebhooksSettings
from cinder.config.searching import SearchEndpoint, SearchSettings
from cinder.config.section import Section
from cinder.config.serving import LimitsSettings, LogSettings, OauthSettings, ServerSettings
from cinder.config.settings import (
    KebabTomlSource,
    Settings,
    SettingsError,
    default_data_dir,
    environment,
    read_settings,
    unknown_variables,
)

__all__ = [
    "BrowserSettings",
    "EgressSettings",
    "ExtractSettings",
    "JobsSettings",
    "KebabTomlSource",
    "LimitsSettings",
    "LlmSettings",
    "LogSettings",
    "OauthSettings",
    "ScrapeSettings",
    "SearchEndpoint",
    "SearchSettings",
    "Section",
    "ServerSettings",
    "Settings",
    "SettingsError",
    "StoreSettings",
    "WebhooksSettings",
    "default_data_dir",
    "environment",
    "read_settings",
    "unknown_variables",
]
