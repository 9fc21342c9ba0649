"""Settings in sections, one for each subject, and how they are read."""

from cinder.config.outbound import (
    BrowserSettings,
    EgressSettings,
    ExtractSettings,
    LlmSettings,
    ScrapeSettings,
    SearchEndpoint,
    SearchSettings,
)
from cinder.config.section import SettingsSection
from cinder.config.serving import (
    JobsSettings,
    LimitsSettings,
    LogSettings,
    OauthSettings,
    ServerSettings,
    StoreSettings,
    WebhooksSettings,
)
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
    "ServerSettings",
    "Settings",
    "SettingsError",
    "SettingsSection",
    "StoreSettings",
    "WebhooksSettings",
    "default_data_dir",
    "environment",
    "read_settings",
    "unknown_variables",
]
