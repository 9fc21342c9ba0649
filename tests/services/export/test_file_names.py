"""The names of exported files."""

import posixpath
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.services.export.file_names import (
    MAX_PATH_BYTES,
    FileNames,
    check_inside,
    file_name,
    plain_name,
    relative_link,
)

HOSTILE = (
    "http://a.test/%2e%2e%2f%2e%2e%2fetc/passwd",
    "http://a.test/..%5c..%5cwindows",
    "http://a.test/x/%00/y",
    "http://a.test/con",
    "http://a.test/AUX.html",
    "http://a.test/nul/lpt1.txt/x",
    "http://a.test/.git/config",
    "http://a.test/.ssh/",
    "http://a.test/a.",
    "http://a.test/a%20",
    "http://a.test//",
    "http://a.test/%3Cscript%3E:*|?%22",
    "http://a.test/%E2%80%AEdm.exe",
    "http://a.test/%FF%FE",
    f"http://a.test/{'l' * 400}",
    f"http://a.test/{'%E6%97%A5' * 200}/x",
    f"http://a.test/{'deep/' * 200}x",
    f"http://{'a' * 60}.{'b' * 60}.{'c' * 60}.test/{'d' * 90}/e",
    f"http://a.test/page?{'q' * 3000}",
    "http://[::1]:8080/x",
    "http://../../etc/x",
    "http://%2e%2e/etc/x",
    "http://.../x",
    "http://a../x",
    "http://.a.test/x",
    "http://a*\"b'c/x",
    "../../etc/x",
    "..",
    "/etc/x",
    "C:\\windows\\x",
    "file:///etc/x",
    "a:..",
    "not a url",
    "con",
    "two\nlines\x00",
    "half a \ud800",
    "http://a.test/\ud800",
    "",
    " ",
    "http://",
    "l" * 400,
)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://a.test/", "a.test/index.md"),
        ("https://a.test/docs", "a.test/docs.md"),
        ("https://a.test/docs/", "a.test/docs/index.md"),
        ("https://a.test/docs/install.html", "a.test/docs/install.md"),
        ("https://a.test/v1.2/README.md", "a.test/v1.2/README.md"),
        ("https://a.test/paper.pdf", "a.test/paper.pdf.md"),
        ("https://a.test:8080/list?page=2&sort=a/z", "a.test_8080/list@page=2&sort=a%2Fz.md"),
        ("https://a.test/%E6%97%A5%E6%9C%AC", "a.test/日本.md"),
        ("https://a.test/x.md/y", "a.test/x.md_/y.md"),
        ("https://a.test/con/aux.html", "a.test/_con/_aux.md"),
        ("https://a.test/.git/config", "a.test/%2Egit/config.md"),
        ("http://[::1]:80/x", "__1/x.md"),
        ("http://../../etc/x", "_invalid/http%3A%2F%2F..%2F..%2Fetc%2Fx.md"),
        ("not a url", "_invalid/not a url.md"),
    ],
)
def test_a_page_has_the_name_of_its_url(url: str, name: str) -> None:
    assert plain_name(url) == name


@pytest.mark.parametrize("url", HOSTILE)
def test_every_name_is_safe_on_every_file_system(url: str) -> None:
    names = FileNames()
    names.add(url)
    for name in (names.of(url), file_name(url, ".png")):
        assert len(name.encode()) <= MAX_PATH_BYTES
        assert posixpath.normpath(name) == name
        for part in name.split("/"):
            assert part not in ("", ".", "..")
            assert part.isprintable()
            assert not set(part) & set('<>:"\\|?*')
            assert part[0] not in ". "
            assert part[-1] not in ". "
            assert part.partition(".")[0].casefold() not in ("con", "aux", "nul", "lpt1")


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=300)


@given(
    ANY_TEXT
    | st.builds("http://{}/{}".format, ANY_TEXT, ANY_TEXT)
    | st.lists(st.sampled_from([*"./\\:%?#a ", "..", "%2e", "%2f", "http://"])).map("".join)
)
def test_no_text_leads_out_of_the_folder(url: str) -> None:
    names = FileNames()
    names.add(url)
    for name in (names.of(url), file_name(url, ".png")):
        assert not {"", ".", ".."} & set(name.split("/"))
        assert name.isprintable()
        assert "\\" not in name
        assert len(name.encode()) <= MAX_PATH_BYTES
        check_inside(name)


@pytest.mark.parametrize(
    "path", ["../x", "a/../../x", "/etc/x", "a//x", "./x", "", "a\\..\\x", "C:x", "a/\n", "a/"]
)
def test_a_path_out_of_the_folder_is_refused(path: str) -> None:
    with pytest.raises(OSError, match="no path within the exported folder"):
        check_inside(path)


COLLIDING = (
    "not a url",
    "not%20a%20url",
    "not a url.md",
    "http://_invalid/not%20a%20url",
    "ftp://a.test/docs",
    "http://a.test/Docs",
    "http://a.test/docs",
    "http://a.test/docs.html",
    "https://a.test/docs",
    "http://a.test/docs.md",
    "http://a.test/docs/",
    "http://a.test/docs/index.html",
    "http://a.test/docs/INDEX",
    "http://a.test/docs@x",
    "http://a.test/docs?x",
    "http://a.test/stra%C3%9Fe",
    "http://a.test/strasse",
    "http://a.test/caf%C3%A9",
    "http://a.test/cafe%CC%81",
)


def test_pages_with_the_same_name_are_told_apart_in_any_order() -> None:
    by_order = []
    for seed in range(5):
        names = FileNames()
        urls = list(COLLIDING)
        Random(seed).shuffle(urls)
        for url in urls:
            names.add(url)
        by_order.append({url: names.of(url) for url in COLLIDING})
    assert all(found == by_order[0] for found in by_order)
    folded = {name.casefold() for name in by_order[0].values()}
    assert len(folded) == len(COLLIDING)
    assert by_order[0]["http://a.test/docs/"] == "a.test/docs/index.md"


def test_a_page_cannot_take_the_name_of_another_on_purpose() -> None:
    names = FileNames()
    first, second = "http://a.test/docs", "http://a.test/DOCS/../docs.html"
    for url in (first, second):
        names.add(url)
    [marked] = [names.of(url) for url in (first, second) if "~" in names.of(url)]
    forged = f"http://{marked.removesuffix('.md')}"
    again = FileNames()
    for url in (first, second, forged):
        again.add(url)
    assert len({again.of(url) for url in (first, second, forged)}) == 3


def test_no_file_is_called_like_a_folder() -> None:
    urls = [f"http://a.test/{path}" for path in ("a", "a/", "a/b", "a.md/b", "a.md", "a.html/c")]
    names = FileNames()
    for url in urls:
        names.add(url)
    files = {names.of(url) for url in urls}
    folders = {posixpath.dirname(file) for file in files}
    assert len(files) == len(urls)
    assert not files & folders


def test_a_link_is_found_under_each_spelling() -> None:
    names = FileNames()
    names.add("http://a.test/docs/index.html")
    names.add("http://a.test/b")
    names.add_alias("http://a.test/old", "http://a.test/older")
    names.add_alias("http://a.test/older", "http://a.test/b")
    names.add_alias("http://a.test/loop", "http://a.test/loop")
    names.add_alias("http://a.test/docs/", "http://a.test/docs/index.html")
    found = {
        path: names.find(f"http://a.test/{path}")
        for path in ("docs/index.html", "docs/", "docs", "b?utm_source=x", "old", "loop", "c")
    }
    assert found == {
        "docs/index.html": "a.test/docs/index.md",
        "docs/": "a.test/docs/index.md",
        "docs": None,
        "b?utm_source=x": "a.test/b.md",
        "old": "a.test/b.md",
        "loop": None,
        "c": None,
    }


def test_links_between_files_are_relative_and_encoded() -> None:
    assert relative_link("a/b/c.md", "a/d e (1).md", "#x") == "../d%20e%20%281%29.md#x"
    assert relative_link("a/b.md", "c/index.md") == "../c/index.md"
    assert relative_link("a/b.md", "a/b.md", "#top") == "#top"
    assert relative_link("a/b.md", "a/b.md") == "b.md"
