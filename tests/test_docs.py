"""The documents say what the code does."""

import ast
import inspect
import json
import re
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Thread

import pytest
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from cinder.api.errors import HTTP_STATUS
from cinder.app.composition import open_app
from cinder.cli.options import flags_of
from cinder.config.section import SettingsSection
from cinder.config.settings import Settings, read_settings
from cinder.models.extraction import ExtractRequest
from cinder.models.options import Option, options_of
from cinder.models.request import ScrapeRequest
from cinder.models.search import SearchRequest
from cinder.services.jobs.specs import CrawlSpec, MapRequest

ROOT = Path(__file__).parent.parent
SETTINGS_PAGE = (ROOT / "docs" / "settings.md").read_text()


def test_every_error_code_is_documented_with_its_status() -> None:
    page = (ROOT / "docs" / "rest.md").read_text()
    for code, status in HTTP_STATUS.items():
        assert re.search(rf"^\| `{code}` \| {status} \|", page, re.MULTILINE), code


def rows() -> list[str]:
    """The table rows that docs/settings.md must have, one for each setting."""
    data_dir = _sentences(Settings)["data_dir"]
    found = [_row(("data_dir",), Settings.model_fields["data_dir"], data_dir)]
    for section_name, section in Settings.model_fields.items():
        model = section.annotation
        if isinstance(model, type) and issubclass(model, SettingsSection):
            sentences = _sentences(model)
            found += [
                _row((section_name, name), info, sentences[name]) for name, info in _fields(model)
            ]
    return found


def _fields(model: type[BaseModel]) -> list[tuple[str, FieldInfo]]:
    return list(model.model_fields.items())


def _sentences(model: type[BaseModel]) -> dict[str, str]:
    """Return the sentences beneath the fields of a model, which at run time nothing reads."""
    found = {}
    (definition,) = ast.parse(inspect.getsource(model)).body
    assert isinstance(definition, ast.ClassDef)
    for pair in pairwise(definition.body):
        match pair:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
    return found


def _row(path: tuple[str, ...], info: FieldInfo, sentence: str) -> str:
    name = ".".join(path).replace("_", "-")
    variable = "CINDER_" + "__".join(path).upper()
    return f"| `{name}` | `{variable}` | {_default(info)} | {sentence} |"


def _default(info: FieldInfo) -> str:
    value = info.default
    if info.default_factory is dict:
        return "none"
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


def option_tables() -> dict[str, list[str]]:
    """The tables that docs/options.md must have: a heading, and a row for each option."""
    requests = {
        "Scrape and batch": (ScrapeRequest, {}),
        "Crawl": (CrawlSpec, {}),
        "Map": (MapRequest, {}),
        "Search": (SearchRequest, {}),
        "Extract": (ExtractRequest, {"maxAge": (), "forceRescrape": ("--force",)}),
    }
    return {
        title: [_option_row(option, own_flags) for option in options_of(request)]
        for title, (request, own_flags) in requests.items()
    }


def _option_row(option: Option, own_flags: dict[str, tuple[str, ...]]) -> str:
    flags = own_flags.get(option.name, () if option.flags is None else flags_of(option))
    shown = ", ".join(f"`{flag}`" for flag in flags) or "none"
    is_empty = option.is_list or option.default is None
    default = "none" if is_empty else f"`{json.dumps(option.default)}`".replace('"', "")
    return f"| `{option.name}` | {default} | {shown} | {option.sentence} |"


@pytest.mark.parametrize("title", option_tables())
def test_every_option_is_documented(title: str) -> None:
    page = (ROOT / "docs" / "options.md").read_text()
    section = page.partition(f"## {title}\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == option_tables()[title]


def test_every_setting_and_file_that_the_readme_names_exists() -> None:
    readme = (ROOT / "README.md").read_text()
    variables = re.findall(r"`(CINDER_[A-Z_]+)", readme)
    assert variables
    for variable in variables:
        assert f"`{variable}`" in SETTINGS_PAGE
    for name in re.findall(r"`([A-Za-z/]+\.(?:md|html))`", readme):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/README.md"])
def test_every_link_between_documents_leads_to_a_file(page: str) -> None:
    for target in re.findall(r"\]\(([^):#]+)\)", (ROOT / page).read_text()):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_the_architecture_names_modules_that_exist() -> None:
    source = ROOT / "src" / "cinder"
    modules = {path.relative_to(source).as_posix() for path in source.rglob("*.py")}
    names = {name.rpartition("/")[2] for name in modules}
    for name in re.findall(r"`([a-z_0-9/]+\.py)`", (ROOT / "ARCHITECTURE.md").read_text()):
        assert name in (modules if "/" in name else names), name


def test_the_glossary_explains_each_word_once() -> None:
    words = re.findall(
        r"^\| \*\*(.+?)\*\*", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE
    )
    assert len(words) == len(set(words))


async def test_the_tour_shows_what_a_reader_will_see(tmp_path: Path) -> None:
    """Run the tour's scrape, on a port of its own, and find its output in the README."""
    readme = (ROOT / "README.md").read_text()
    handler = partial(SimpleHTTPRequestHandler, directory=ROOT / "examples" / "site")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            address = f"127.0.0.1:{server.server_port}"
            settings = read_settings(data_dir=tmp_path, egress={"allow": [address]})
            request = ScrapeRequest(url=f"http://{address}/ember.html")
            async with open_app(settings) as app:
                outcome = await app.scrape.scrape(request)
        finally:
            server.shutdown()
            thread.join()
    shown = (outcome.document.content.markdown or "").replace(address, "127.0.0.1:8080")
    assert f"$ cinder scrape http://127.0.0.1:8080/ember.html\n{shown}\n```" in readme
