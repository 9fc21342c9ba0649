"""What others install cinder by says what the package is."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cinder import __version__
from cinder.config.settings import Settings

ROOT = Path(__file__).parent.parent
SERVER: dict[str, Any] = json.loads((ROOT / "server.json").read_text())
MANIFEST: dict[str, Any] = json.loads((ROOT / "packaging/mcpb/manifest.json").read_text())
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_registry_entry_has_the_form_that_the_registry_asks_for() -> None:
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", SERVER["name"])
    assert SERVER["$schema"].endswith("/2025-12-11/server.schema.json")
    assert 1 <= len(SERVER["description"]) <= 100
    assert SERVER["description"] == PROJECT["description"]
    known = {"$schema", "name", "title", "description", "version", "packages"}
    assert set(SERVER) == known


def test_the_registry_entry_names_this_version_of_the_package() -> None:
    (package,) = SERVER["packages"]
    assert SERVER["version"] == package["version"] == __version__
    assert package["registryType"] == "pypi"
    assert package["identifier"] == PROJECT["name"]
    assert package["transport"] == {"type": "stdio"}


def test_the_package_has_a_command_of_its_own_name() -> None:
    assert PROJECT["scripts"][PROJECT["name"]] == PROJECT["scripts"]["cinder"]


def test_the_readme_bears_the_name_by_which_the_registry_knows_its_owner() -> None:
    assert f"mcp-name: {SERVER['name']} " in (ROOT / "README.md").read_text()


def test_the_variables_of_the_registry_entry_are_settings() -> None:
    for variable in SERVER["packages"][0]["environmentVariables"]:
        section, *rest = variable["name"].removeprefix("CINDER_").lower().split("__")
        field = Settings.model_fields[section]
        for name in rest:
            assert field.annotation is not None
            field = field.annotation.model_fields[name]


def test_the_bundle_is_of_this_version_and_starts_what_it_holds() -> None:
    server = MANIFEST["server"]
    assert MANIFEST["version"] == __version__
    assert MANIFEST["description"] == PROJECT["description"]
    assert (ROOT / server["entry_point"]).is_file()
    assert server["mcp_config"]["args"][-2:] == ["cinder", "mcp"]
    assert MANIFEST["compatibility"]["runtimes"]["python"] == PROJECT["requires-python"]


@pytest.mark.parametrize("file", ["scripts/build-bundle", "Dockerfile", ".dockerignore"])
def test_whatever_builds_cinder_elsewhere_takes_along_what_compiles_it(file: str) -> None:
    assert "hatch_build.py" in (ROOT / file).read_text()
