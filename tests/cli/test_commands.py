"""The command line, run as a person runs it: as a process of its own."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cinder import __version__
from tests.browser.remote_chromium import open_chromium
from tests.egress.relay_proxies import open_relays, three_relays
from tests.llm.servers import OpenAiServer
from tests.search_servers import JsonServer, SearxngServer, serving, some_pages
from tests.search_servers.json_engine import TOKEN
from tests.site import Canary, Site
from tests.site.pages import PNG

LEAN = """
import sys
import cinder.cli.main
heavy = {"structlog", "pydantic", "cinder.fetch", "cinder.html", "cinder.app"} & set(sys.modules)
sys.exit(", ".join(heavy) or 0)
"""


@dataclass(frozen=True, slots=True)
class Finished:
    code: int
    out: str
    err: str


Run = Callable[..., Awaitable[Finished]]


@pytest.fixture
def run(tmp_path: Path, site: Site) -> Run:
    """Run the `cinder` command on a data directory of its own, allowed to reach the website."""

    async def run_command(*arguments: str, **variables: str) -> Finished:
        environment = {
            **os.environ,
            "CINDER_DATA_DIR": str(tmp_path / "data"),
            "CINDER_EGRESS__ALLOW": site.address,
            **variables,
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "cinder",
            *arguments,
            env=environment,
            cwd=tmp_path,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode is not None
        return Finished(process.returncode, out.decode(), err.decode())

    return run_command


def test_the_command_line_loads_no_part_before_a_command_needs_it() -> None:
    done = subprocess.run([sys.executable, "-c", LEAN], check=False, capture_output=True)
    assert done.stderr == b""


async def test_scrape_prints_markdown_and_says_where_it_is_kept(run: Run, site: Site) -> None:
    done = await run("scrape", site.url("/article"))
    assert done.code == 0
    assert done.out.startswith("# Ember care\n")
    assert f"saved as scrape://127.0.0.1:{site.port}/article/cleaned_" in done.err


async def test_a_second_scrape_is_read_from_the_cache_and_by_its_uri(run: Run, site: Site) -> None:
    first = await run("scrape", site.url("/article"))
    second = await run("scrape", site.url("/article"))
    assert "cached" in second.err
    assert second.out == first.out
    kept = await run("cache", "read", second.err.split("saved as ")[1].strip())
    assert kept.out == first.out
    shown = await run("cache", "show", site.url("/article"))
    assert "read once" in shown.out
    assert shown.out.split()[0] == second.err.split("saved as ")[1].strip()
    cleared = await run("cache", "clear", site.url("/article"))
    assert cleared.out == f"Deleted 1 cache entry of {site.url('/article')}\n"
    assert "Nothing is kept" in (await run("cache", "show", site.url("/article"))).out


async def test_scrape_prints_the_whole_answer_as_json(run: Run, site: Site) -> None:
    done = await run("scrape", site.url("/article"), "--json", "-f", "links", "--no-save")
    answer = json.loads(done.out)
    assert site.url("/about") in answer["links"]
    assert "savedUris" not in answer


async def test_scrape_shows_an_outline_a_section_and_what_matches(run: Run, site: Site) -> None:
    outline = await run("scrape", site.url("/guide"), "--outline")
    lines = outline.out.splitlines()
    assert lines[0].startswith("a-guide-to-firewood (")
    assert lines[1].startswith("  oak (")
    assert lines[1].endswith(")  Oak")
    section = await run("scrape", site.url("/guide"), "--section", "banking-a-fire")
    assert section.out.startswith("## Banking a fire\n\nBank the coals with ash at midnight")
    assert "cached" in section.err
    found = await run("scrape", site.url("/guide"), "--query", "close the damper")
    assert found.out.startswith("[banking-a-fire, ")
    unknown = await run("scrape", site.url("/guide"), "--section", "Banks")
    assert unknown.code == 2
    assert "section: The page has no section 'Banks'" in unknown.err


async def test_scrape_prints_a_summary(run: Run, site: Site) -> None:
    done = await run("scrape", site.url("/guide"), "-f", "summary")
    assert done.out.startswith("Firewood keeps a house warm when it is dry")


async def test_scrape_writes_files(run: Run, site: Site, tmp_path: Path) -> None:
    done = await run("scrape", site.url("/image"), "-o", "ember.png")
    assert done.code == 0
    assert f"saved as scrape://127.0.0.1:{site.port}/image/raw_" in done.err
    assert (tmp_path / "ember.png").read_bytes() == PNG


async def test_scrape_reads_a_pdf_unless_the_file_is_wanted(
    run: Run, site: Site, tmp_path: Path
) -> None:
    url = site.url("/document?name=leaflet.pdf")
    read = await run("scrape", url)
    assert read.out.startswith("<!-- page 1 -->\n\n# Ember care")
    first = await run("scrape", url, "--max-pages", "1")
    assert "Of 2 pages the first 1 were parsed" in first.err
    kept = await run("scrape", url, "--no-parse-pdf")
    assert kept.out.startswith("application/pdf, ")
    assert "--no-parse-pdf" in kept.err
    await run("scrape", url, "-o", "leaflet.pdf")
    assert (tmp_path / "leaflet.pdf").read_bytes().startswith(b"%PDF")
    both = await run("scrape", url, "--max-pages", "1", "--no-parse-pdf")
    assert (both.code, "--max-pages" in both.err) == (2, True)


async def test_several_pages_are_printed_in_order_and_one_failure_costs_only_itself(
    run: Run, site: Site
) -> None:
    urls = [site.url(path) for path in ("/guide", "/status?code=404", "/article")]
    done = await run("scrape", *urls)
    assert done.code == 1
    headings = [line for line in done.out.splitlines() if line.startswith("==> ")]
    assert headings == [f"==> {urls[0]} <==", f"==> {urls[2]} <=="]
    assert "# Ember care" in done.out
    assert "404 Not Found [TARGET_HTTP_ERROR]" in done.err
    assert done.err.endswith("cinder: 1 of 3 pages failed\n")


async def test_a_url_without_a_scheme_may_be_served_over_http(run: Run, site: Site) -> None:
    done = await run("scrape", f"{site.address}/article")
    assert done.out.startswith("# Ember care")
    assert "http:// was used" in done.err


async def test_links_of_a_page_that_was_read_come_from_the_saved_page(run: Run, site: Site) -> None:
    await run("scrape", site.url("/article"), "-f", "markdown")
    done = await run("scrape", site.url("/article"), "-f", "links")
    assert done.out.startswith("http")
    assert "ok, cached" in done.err
    assert site.hits("/article") == 1


async def test_several_pages_are_one_list_of_json(run: Run, site: Site) -> None:
    urls = [site.url(path) for path in ("/status?code=404", "/article")]
    done = await run("scrape", *urls, "--json")
    failed, read = json.loads(done.out)
    assert (done.code, failed["url"], read["url"]) == (1, *urls)
    assert failed["error"]["code"] == "TARGET_HTTP_ERROR"
    outlines = await run("scrape", urls[1], site.url("/guide"), "--json", "--outline")
    assert outlines.code == 0
    assert [page["url"] for page in json.loads(outlines.out)] == [urls[1], site.url("/guide")]


async def test_several_pages_are_written_to_a_folder(run: Run, site: Site, tmp_path: Path) -> None:
    urls = [site.url(path) for path in ("/article", "/article#part", "/image")]
    done = await run("scrape", *urls, "-o", "pages")
    assert (done.code, done.out) == (0, "")
    place = f"127.0.0.1-{site.port}"
    written = {path.name for path in (tmp_path / "pages").iterdir()}
    assert written == {f"{place}-article.md", f"{place}-article-part.md", f"{place}-image.png"}
    assert (tmp_path / "pages" / f"{place}-article.md").read_text().startswith("# Ember care")
    assert (tmp_path / "pages" / f"{place}-image.png").read_bytes() == PNG
    (tmp_path / "taken").write_text("")
    taken = await run("scrape", *urls, "-o", "taken")
    assert (taken.code, "taken" in taken.err) == (1, True)


async def test_a_wrong_url_among_several_is_told_before_any_is_fetched(
    run: Run, site: Site
) -> None:
    done = await run("scrape", site.url("/article"), "ftp://a.example/")
    assert (done.code, done.out) == (2, "")
    assert site.hits("/article") == 0


async def test_scrape_writes_a_screenshot_and_its_uri_reads_the_same(
    run: Run, site: Site, tmp_path: Path
) -> None:
    done = await run("scrape", site.url("/article"), "-f", "screenshot", "-o", "shot.png")
    assert (done.code, done.out) == (0, "")
    uri = next(line for line in done.err.splitlines() if "saved as" in line).split(" and ")[1]
    await run("cache", "read", uri, "-o", "kept.png")
    shot = (tmp_path / "shot.png").read_bytes()
    assert shot.startswith(b"\x89PNG")
    assert (tmp_path / "kept.png").read_bytes() == shot


@pytest.mark.parametrize(
    "arguments",
    [
        ("scrape", "file:///etc/passwd"),
        ("scrape", "http://"),
        ("scrape", "a.example", "-f", "pdf"),
        ("scrape", "a.example", "-H", "no colon"),
        ("scrape", "a.example", "-H", "Host: b.example"),
        ("scrape", "a.example", "--mode", "quick"),
        ("scrape", "a.example", "--action", "click"),
        ("scrape", "a.example", "--action", '{"type": "click"}'),
        ("scrape", "a.example", "--wait-for", "-1"),
        ("scrape", "a.example", "-f", "screenshot", "-f", "fullscreenshot"),
        ("cache", "read", "scrape://nothing"),
    ],
)
async def test_bad_input_is_one_clear_line_and_exit_code_two(
    run: Run, arguments: tuple[str, ...]
) -> None:
    done = await run(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("cinder: Invalid arguments: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:22/",
        "http://[::ffff:10.0.0.1]/",
        "http://2130706433/",
        "http://localhost:{canary}/",
        "http://127.0.0.1:{canary}/",
        "http://127.0.0.1:{site}/redirect?to=http://127.0.0.1:{canary}/",
    ],
)
async def test_private_addresses_are_refused(
    run: Run, site: Site, canary: Canary, url: str
) -> None:
    done = await run("scrape", url.format(site=site.port, canary=canary.port))
    assert done.code == 1
    assert "EGRESS_BLOCKED" in done.err
    assert not canary.was_reached()


async def test_a_blocked_page_is_told_with_its_next_step_and_as_json(run: Run, site: Site) -> None:
    done = await run("scrape", site.url("/wall?code=403"), "--mode", "static", "--json")
    assert done.code == 1
    error = json.loads(done.out)["error"]
    assert (error["code"], error["verdict"]) == ("BLOCKED", "blocked")
    assert done.err.splitlines()[-1] == error["nextStep"]


async def test_an_http_error_of_the_target_is_a_failure_with_its_status(
    run: Run, site: Site
) -> None:
    done = await run("scrape", site.url("/status?code=404"), "--json")
    assert done.code == 1
    error = json.loads(done.out)["error"]
    assert (error["code"], error["statusCode"]) == ("TARGET_HTTP_ERROR", 404)


async def test_bad_input_is_told_as_json_too(run: Run) -> None:
    done = await run("scrape", "a.example", "-H", "no colon", "--json")
    assert done.code == 2
    assert json.loads(done.out)["error"]["code"] == "VALIDATION_ERROR"


async def test_a_file_that_cannot_be_written_is_one_clear_line(run: Run, site: Site) -> None:
    done = await run("scrape", site.url("/article"), "-o", "/no/such/folder/x")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "/no/such/folder/x" in done.err


async def test_a_data_directory_that_cannot_be_made_is_named(run: Run) -> None:
    done = await run("doctor", CINDER_DATA_DIR="/proc/nowhere")
    assert done.code == 1
    assert "CINDER_DATA_DIR" in done.out
    assert "Traceback" not in done.err


async def test_a_server_that_cannot_open_its_database_says_so_in_one_line(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "broken.db").write_bytes(b"not a database" * 100)
    store = f"sqlite:///{tmp_path / 'broken.db'}"
    done = await run("serve", "--port", "0", CINDER_STORE__URL=store)
    assert done.code == 1
    assert "CACHE_ERROR" in done.err
    assert "Traceback" not in done.err


async def test_settings_come_from_file_then_environment(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cinder.toml").write_text("[scrape]\nmax-retries = -1\n")
    done = await run("scrape", "a.example")
    assert "scrape.max-retries" in done.err
    done = await run("scrape", "http://127.0.0.1:22/", CINDER_SCRAPE__MAX_RETRIES="1")
    assert "EGRESS_BLOCKED" in done.err
    (tmp_path / "cinder.toml").write_text("[scrape]\nmax-retires = 1\n")
    assert "no such setting" in (await run("scrape", "a.example")).err
    done = await run("scrape", "a.example", CINDER_CONFIG="nowhere.toml")
    assert (done.code, "nowhere.toml" in done.err) == (2, True)


async def test_wrong_settings_are_named(run: Run) -> None:
    done = await run("scrape", "a.example", CINDER_SCRAPE__MAX_RETRIES="many")
    assert done.code == 2
    assert "scrape.max-retries" in done.err
    done = await run("scrape", "a.example", CINDER_EGRESS__ALLOW="here:there")
    assert done.code == 2
    assert "here:there" in done.err
    done = await run("scrape", "a.example", CINDER_SCRAPE__IMPERSONATE="netscape")
    assert (done.code, "netscape" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CINDER_BROWSER__EXTRA_HEADERS", "X-From: me"),
        ("CINDER_BROWSER__FILTER_LISTS", "nowhere.txt"),
        ("CINDER_SERVER__RATE_LIMIT", "often"),
        ("CINDER_SERVER__MCP_TOOLS", "hammer"),
        ("CINDER_STORE__URL", "mysql://here"),
    ],
)
async def test_a_server_refuses_a_wrong_setting_in_one_line(
    run: Run, variable: str, value: str
) -> None:
    done = await run("serve", "--port", "0", **{variable: value})
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert variable in done.err


async def test_a_server_open_to_all_does_not_start(run: Run) -> None:
    done = await run("serve", "--host", "0.0.0.0", "--port", "0")
    assert done.code == 2
    assert "CINDER_SERVER__API_TOKEN" in done.err


async def test_doctor_checks_every_part(run: Run) -> None:
    done = await run("doctor", CINDER_SERVER__PORT="1")
    assert done.code == 0, done.out
    assert [line.split()[1] for line in done.out.splitlines()] == [
        "data",
        "settings",
        "database",
        "egress",
        "extraction",
        "browser",
        "jobs",
        "fonts",
        "server",
    ]


async def test_doctor_names_the_scripts_without_a_font(run: Run, tmp_path: Path) -> None:
    (tmp_path / "no-fonts").mkdir()
    config = tmp_path / "fonts.conf"
    config.write_text(f"<fontconfig><dir>{tmp_path / 'no-fonts'}</dir></fontconfig>")
    done = await run("doctor", CINDER_SERVER__PORT="1", FONTCONFIG_FILE=str(config))
    (line,) = (line for line in done.out.splitlines() if line.split()[1] == "fonts")
    assert line.startswith("ok    fonts       none for Latin, ")
    assert "Japanese, Korean" in line
    assert "fonts-noto-cjk" in line
    nothing = await run("doctor", CINDER_SERVER__PORT="1", PATH=str(tmp_path / "no-fonts"))
    assert "fonts       not checked" in nothing.out


async def test_doctor_says_how_to_mend(run: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_bytes(b"not a database" * 100)
    done = await run("doctor", CINDER_STORE__URL=f"sqlite:///{tmp_path / 'broken.db'}")
    assert done.code == 1
    assert "FAIL  database" in done.out
    assert "CINDER_STORE__URL" in done.out


async def test_doctor_tries_a_remote_browser_and_says_what_is_lost(
    run: Run, tmp_path: Path
) -> None:
    async with open_chromium(tmp_path / "remote") as chromium:
        url = f"http://user:geheim@{chromium.relay.pair}/?token=geheim"
        variables = {"CINDER_SERVER__PORT": "1", "CINDER_BROWSER__CDP_URL": url}
        fine = await run("doctor", **variables)
    assert (fine.code, chromium.relay.connections) == (0, 2), fine.out
    assert "ok    browser     works; it is remote" in fine.out
    assert "do not pass the egress guard" in fine.out
    failing = await run("doctor", **variables)
    assert failing.code == 1
    assert "FAIL  browser     The remote browser (setting browser.cdp-url)" in failing.out
    assert f"It was asked at http://{chromium.relay.pair}." in failing.out
    assert "geheim" not in f"{fine.out} {fine.err} {failing.out} {failing.err}"


async def test_doctor_tries_every_search_provider(run: Run) -> None:
    async with (
        serving(SearxngServer(some_pages(1), formats=("html",))) as searxng,
        serving(JsonServer(some_pages(1))) as wiki,
    ):
        done = await run(
            "doctor",
            CINDER_SERVER__PORT="1",
            CINDER_SEARCH__PROVIDERS="searxng,wiki",
            CINDER_SEARCH__SEARXNG_URL=searxng.url,
            CINDER_SEARCH__ENDPOINTS__WIKI__URL=f"{wiki.url}/?words={{query}}",
            CINDER_SEARCH__ENDPOINTS__WIKI__RESULTS="data.hits",
            CINDER_SEARCH__ENDPOINTS__WIKI__HEADERS=json.dumps({"X-Token": TOKEN}),
        )
    assert done.code == 1
    assert "FAIL  search:searxng  SearXNG answered 403: its JSON format is off" in done.out
    assert f"It was asked at {searxng.url}." in done.out
    assert "add `json` to `search.formats` in its settings.yml" in done.out
    assert "ok    search:wiki  works" in done.out


async def test_pages_leave_through_a_pool_and_doctor_reaches_its_proxies(
    run: Run, site: Site
) -> None:
    async with open_relays(*three_relays()) as relays:
        pool = {"proxies": [relay.url for relay in relays]}
        variables = {
            "CINDER_SERVER__PORT": "1",
            "CINDER_EGRESS__PROXY_POOLS": json.dumps({"eu": pool}),
        }
        done = await run("scrape", site.url("/article"), "--proxy-pool", "eu", **variables)
        assert (done.code, relays[0].relayed) == (0, [site.address]), done.err
        unknown = await run("scrape", site.url("/article"), "--proxy-pool", "us", **variables)
        assert unknown.code == 2
        assert "There is no pool 'us'. Configured are: eu" in unknown.err
        fine = await run("doctor", **variables)
        assert "ok    proxies:eu  works" in fine.out
        await relays[1].stop()
        failing = await run("doctor", **variables)
    assert failing.code == 1
    assert "FAIL  proxies:eu  1 of 3 proxies cannot be used" in failing.out
    assert f"127.0.0.1:{relays[1].port}" in failing.out
    assert relays[1].password not in failing.out


async def test_doctor_tries_the_language_model(run: Run) -> None:
    async with serving(OpenAiServer("It works.")) as server:
        model = {
            "CINDER_SERVER__PORT": "1",
            "CINDER_LLM__BASE_URL": server.url,
            "CINDER_LLM__MODEL": "ember-1",
            "CINDER_LLM__API_KEY": "sk-hidden",
        }
        fine = await run("doctor", **model)
        server.fail_with(server.error(401, "sk-hidden is not known"))
        failing = await run("doctor", **model)
    assert fine.code == 0, fine.out
    assert "ok    model       works" in fine.out
    assert failing.code == 1
    assert "FAIL  model       The language model 'ember-1' answered 401" in failing.out
    assert f"It was asked at {server.url}." in failing.out
    assert "check llm.api-key (CINDER_LLM__API_KEY)" in failing.out
    assert "sk-hidden" not in failing.out + failing.err


async def test_a_provider_that_is_not_set_up_says_what_to_set(run: Run) -> None:
    done = await run("doctor", CINDER_SEARCH__PROVIDERS="local,searxng")
    assert done.code == 2
    assert "search: The provider 'searxng' needs its address" in done.err
    assert "CINDER_SEARCH__SEARXNG_URL" in done.err
    assert "Traceback" not in done.err


async def test_version_is_shown(run: Run) -> None:
    assert (await run("--version")).out == f"cinder {__version__}\n"


async def test_branding_and_changes_are_printed(run: Run, site: Site) -> None:
    branding = await run("scrape", site.url("/brand"), "--format", "branding")
    assert json.loads(branding.out)["colors"]["primary"] == "#d9480f"
    page = site.url("/diary?days=first,changed")
    assert (await run("scrape", page, "-f", "changeTracking")).out == "changeTracking: new\n"
    changed = await run("scrape", page, "-f", "changeTracking")
    assert changed.out.startswith("changeTracking: changed (compared with ")
    assert "-| Oak | 9 |\n+| Oak | 10 |" in changed.out
