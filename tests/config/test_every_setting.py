"""Every setting is read from the file and the environment, or refused in one line."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, get_origin

import pytest
from pydantic.fields import FieldInfo

from cinder.app.composition import open_app
from cinder.config.section import SettingsSection
from cinder.config.settings import Settings, read_settings
from cinder.errors import SettingsError
from cinder.server.asgi import create_app

# A value of each list, where a comma is part of it as well.
ITEMS: dict[str, tuple[str, ...]] = {
    "egress.allow": ("127.0.0.1:8080", "[::1]:8080", "10.0.0.0/8"),
    "browser.launch-args": ("--window-size=800,600", "--disable-features=One,Two", "--mute-audio"),
    "browser.master-login-args": ("--window-size=800,600", "--mute-audio"),
    "browser.ignore-default-args": ("--mute-audio", "--disable-sync"),
    "browser.user-agents": (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140",
        "Other/1.0 (one; two)",
    ),
    "search.providers": ("local", "duckduckgo"),
}
# Settings of which any text is a good value, or only one that cannot be told from a good one.
FREE_TEXTS = (
    *("data-dir", "server.api-token", "server.allowed-hosts", "server.trusted-proxies"),
    *("oauth.resource", "oauth.scope-prefix", "webhooks.secret"),
    *("egress.ca-file", "browser.master-user-data-root", "browser.executable-path"),
    *("browser.profile-id-regex", "browser.master-login-initial-page-url", "browser.user-agent"),
    *("browser.user-agents", "browser.accept-language", "browser.proxy-username"),
    *("browser.proxy-password", "browser.proxy-bypass", "browser.launch-args"),
    *("browser.master-login-args", "browser.ignore-default-args", "search.brave-api-key"),
)


def settings_by_name() -> Iterator[tuple[str, FieldInfo]]:
    """Return every setting by the name that the file has for it."""
    yield "data-dir", Settings.model_fields["data_dir"]
    for section, described in Settings.model_fields.items():
        model = described.annotation
        if isinstance(model, type) and issubclass(model, SettingsSection):
            for name, info in model.model_fields.items():
                yield f"{section}.{name.replace('_', '-')}", info


LISTS = [
    name for name, info in settings_by_name() if get_origin(info.annotation) in (tuple, list, set)
]
NAMES = [name for name, _ in settings_by_name()]


def variable_of(name: str) -> str:
    return f"CINDER_{name.replace('.', '__').replace('-', '_')}".upper()


def value_of(settings: Settings, name: str) -> Any:  # Any: whatever the setting is
    section, _, setting = name.replace("-", "_").partition(".")
    return getattr(getattr(settings, section), setting)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_there_are_lists() -> None:
    assert len(LISTS) >= 14


@pytest.mark.parametrize("name", LISTS)
def test_a_list_takes_commas_in_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    items = ITEMS.get(name, ("basic", "stealth"))
    for text in (",".join(items), " , ".join(items), json.dumps(items)):
        monkeypatch.setenv(variable_of(name), text)
        assert [str(item) for item in value_of(read_settings(), name)] == list(items)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_takes_commas_and_arrays_in_the_file(name: str, tmp_path: Path) -> None:
    items = ITEMS.get(name, ("basic", "stealth"))
    section, _, setting = name.partition(".")
    for written in (json.dumps(",".join(items)), json.dumps(items)):
        (tmp_path / "cinder.toml").write_text(f"[{section}]\n{setting} = {written}\n")
        assert [str(item) for item in value_of(read_settings(), name)] == list(items)


@pytest.mark.parametrize("name", LISTS)
def test_an_empty_list_is_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "search.providers":
        pytest.skip("there is no search without one")
    for text in ("", " , ", "[]"):
        monkeypatch.setenv(variable_of(name), text)
        assert value_of(read_settings(), name) == ()


@pytest.mark.parametrize("name", LISTS)
def test_a_broken_array_is_refused_in_one_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable_of(name), '["--a",')
    with pytest.raises(SettingsError) as raised:
        read_settings()
    assert variable_of(name) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in FREE_TEXTS])
async def test_a_wrong_value_is_refused_in_one_line_that_names_the_variable(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = {"data-dir": str(tmp_path / "data"), "search.brave-api-key": "key"}
    good |= {"llm.model": "small", "llm.base-url": "http://127.0.0.1:1/v1"}
    good |= {"search.providers": "searxng,brave,duckduckgo"}
    good |= {"search.searxng-url": "http://127.0.0.1:1"}
    for other, value in good.items():
        monkeypatch.setenv(variable_of(other), value)
    monkeypatch.setenv(variable_of(name), "" if name == "llm.model" else " ?\n?é")
    with pytest.raises(SettingsError) as raised:
        await _start()
    assert variable_of(name) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", FREE_TEXTS)
async def test_a_free_text_never_ends_the_start_with_a_traceback(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CINDER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv(variable_of(name), " ?\n?é")
    with suppress(SettingsError):  # which is one line, as the others' tests show
        await _start()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "data-dir"])
def test_what_is_not_utf_8_is_refused_in_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable_of(name), "\udcff")
    with pytest.raises(SettingsError, match=variable_of(name)):
        read_settings()


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (b"\xff", "is not valid TOML"),
        (b"server = 5", "CINDER_SERVER"),
        (b"[server]\nport = [1]", "CINDER_SERVER__PORT"),
        (b"[browser]\nextra-headers = 'x'", "CINDER_BROWSER__EXTRA_HEADERS"),
        (b"[browser]\nlaunch-args = 5", "CINDER_BROWSER__LAUNCH_ARGS"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(written: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "cinder.toml").write_bytes(written)
    with pytest.raises(SettingsError, match=words) as raised:
        read_settings()
    assert "\n" not in str(raised.value)


async def _start() -> None:
    settings = read_settings()
    api = create_app(settings, open_app(settings))
    async with api.router.lifespan_context(api):
        pass
