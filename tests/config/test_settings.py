"""Settings that depend on one another."""

from pathlib import Path
from typing import Any

import pytest

from cinder.config.settings import KebabTomlSource, Settings, read_settings
from cinder.errors import SettingsError

TOML = """
[search]
providers = ["local", "my-wiki"]

[search.endpoints.my-wiki]
url = "https://wiki.example/?q={query}"
url-field = "link"

[search.endpoints.my-wiki.headers]
X-Api-Key = "hidden"

[browser.extra-headers]
X-From = "cinder"
"""


@pytest.mark.parametrize(
    ("search", "words"),
    [
        ({"providers": "searxng"}, "CINDER_SEARCH__SEARXNG_URL"),
        ({"providers": "searxng", "searxng_url": " "}, "CINDER_SEARCH__SEARXNG_URL"),
        ({"providers": "local,brave"}, "CINDER_SEARCH__BRAVE_API_KEY"),
        ({"providers": "google"}, r"\[search\.endpoints\.google\]"),
        ({"providers": ""}, "at least one"),
        ({"providers": "local,local"}, "each once"),
        ({"endpoints": {"brave": {"url": "https://a.example/{query}"}}}, "is no name"),
        ({"endpoints": {"My_wiki": {"url": "https://a.example/{query}"}}}, "is no name"),
        ({"endpoints": {"own": {}}}, "either url or description-url"),
        ({"endpoints": {"own": {"url": "u", "description-url": "d"}}}, "either url"),
        ({"endpoints": {"own": {"description-url": "d", "url-field": "l"}}}, "no url-field"),
        ({"endpoints": {"own": {"url": "u", "urlfield": "l"}}}, "no such setting"),
    ],
)
def test_a_provider_that_is_not_set_up_says_what_to_set(
    search: dict[str, Any], words: str
) -> None:  # Any: what fields take
    with pytest.raises(SettingsError, match=words):
        read_settings(search=search)


def test_keys_of_tables_that_are_values_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "cinder.toml"
    path.write_text(TOML)
    settings = read_settings(**KebabTomlSource(Settings, path)())
    endpoint = settings.search.endpoints["my-wiki"]
    assert endpoint.url_field == "link"
    assert endpoint.headers["X-Api-Key"].get_secret_value() == "hidden"
    assert "hidden" not in repr(settings)
    assert settings.browser.extra_headers == {"X-From": "cinder"}
