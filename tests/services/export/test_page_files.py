"""Pages as files of Markdown."""

import io
import zipfile
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are no dependency

from cinder.models.document import Media
from cinder.services.export.base import ExportExtra, ExportFormat, ExportRequest
from cinder.services.export.page_files import front_matter, rewrite_links
from cinder.store.documents import Store
from tests.services.export.samples import add_job_with, export, page_at, some_documents
from tests.store.ledger.samples import HOST
from tests.store.samples import a_document

ZIP = ExportRequest(format=ExportFormat.ZIP)

TITLES = (
    "plain",
    'He said: "#1 \\ 100%" — yes\'s',
    "---\nurl: http://evil.test\n---",
    "- [a]: {b} & *c !d |e >f @g `h",
    "true",
    "2024-01-01",
    "null",
    " spaces ",
    "tab\tnew\r\nline \x00 \x07 \x1b \x7f \x85 \x9f",
    "\u2028 \u2029 \ufeff \ufffe bidi \u202e",
    "emoji 🎉 and 日本",
    "",
)


@pytest.mark.parametrize("title", TITLES)
def test_any_title_can_be_read_back(title: str) -> None:
    moment = datetime(2025, 11, 15, 18, 30, 0, 123_000, tzinfo=UTC)
    text = front_matter({"title": title, "date": moment, "none": None, "list": ["a: b", title]})
    opening, body, rest = (
        text.split("---\n")
        if "---\n" not in title
        else (
            "",
            text[4:].rpartition("---\n")[0],
            "",
        )
    )
    assert (opening, rest) == ("", "")
    assert yaml.safe_load(body) == {"title": title, "date": moment, "list": ["a: b", title]}


def test_half_a_character_becomes_the_replacement_character() -> None:
    assert front_matter({"title": "a\ud800b"}) == '---\ntitle: "a\ufffdb"\n---\n'


MARKDOWN = """# [Top](http://a.test/top "Title")

A [link](http://a.test/x#f), [relative](../y), [![alt [1]](/i.png)](<http://a.test/a b>) and
[escaped\\](http://a.test/no), [brackets](http://a.test/a\\)b), [mail](mailto:a@b.test), [h](#h),
`[code](http://a.test/no)`, ``a`[code](http://a.test/no)`` and <http://a.test/bare>.

```
[code](http://a.test/no)
```

- [item](http://a.test/item)
"""


@pytest.mark.parametrize(
    "unit",
    [
        *("`", "[", "]", "(", "<", "!", "\\", " ", "\n", "#"),
        *("![", "![[", "![[a]", "](", "](<", "]((", "](()", "[`", "``a`", "\\`", "<http://a"),
    ],
)
def test_a_page_of_marks_takes_time_by_its_length(unit: str) -> None:
    # With a letter before them, backticks open no block of code.
    text = f"x{unit * (500_000 // len(unit))}"

    def keep(url: str, fragment: str) -> str:
        return url + fragment

    # By the square of it, this would reach the suite's limit.
    assert rewrite_links(text, "http://a.test/", keep, keep).startswith("x")


@pytest.mark.parametrize(
    ("text", "is_code"),
    [
        ("`[a](/b)`", True),
        ("``[a](/b)` ``", True),
        (r"\``[a](/b)`", True),
        ("``[a](/b)`", False),
        ("`[a](/b)``", False),
    ],
)
def test_code_is_between_runs_of_as_many_backticks(text: str, is_code: bool) -> None:
    written = rewrite_links(text, "http://a.test/", lambda url, _: url, lambda url, _: url)
    assert (written == text) is is_code


def test_links_are_rewritten_and_code_is_not() -> None:
    links: list[str] = []
    images: list[str] = []

    def link(url: str, fragment: str) -> str:
        links.append(url + fragment)
        return "L" + fragment

    def image(url: str, fragment: str) -> str:
        images.append(url + fragment)
        return "I"

    text = rewrite_links(MARKDOWN, "http://a.test/docs/page", link, image)
    assert links == [
        "http://a.test/top",
        "http://a.test/x#f",
        "http://a.test/y",
        "http://a.test/a%20b",
        "http://a.test/a)b",
        "http://a.test/bare",
        "http://a.test/item",
    ]
    assert images == ["http://a.test/i.png"]
    assert text == (
        """# [Top](L "Title")

A [link](L#f), [relative](L), [![alt [1]](I)](L) and
[escaped\\](http://a.test/no), [brackets](L), [mail](mailto:a@b.test), [h](#h),
`[code](http://a.test/no)`, ``a`[code](http://a.test/no)`` and [http://a.test/bare](L).

```
[code](http://a.test/no)
```

- [item](L)
"""
    )


def test_links_that_stay_are_not_touched() -> None:
    text = "[a](<http://a.test/a b>) [b](http://a.test/c\\)d) <http://a.test/>"
    assert rewrite_links(text, "http://a.test/", lambda u, f: u + f, lambda u, f: u + f) == (
        "[a](http://a.test/a%20b) [b](http://a.test/c\\)d) <http://a.test/>"
    )


def unzip(exported: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(exported)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


async def test_a_zip_has_one_file_a_page_with_front_matter(store: Store) -> None:
    page = page_at("/docs/a", a_document())
    linking = replace(
        page_at("/docs/", a_document()),
        content=replace(
            page.content, markdown=f"# Docs\n\n[a]({HOST}/docs/a#x) [b]({HOST}/docs/b)"
        ),
        screenshot=Media("image/png", b"PNG"),
    )
    job = await add_job_with(store, [page, linking])
    files = unzip(await export(store, job, ZIP))
    assert list(files) == [
        "site.test/docs/a.md",
        "site.test/docs/index.md",
        "site.test/docs/index.png",
    ]
    assert files["site.test/docs/index.png"] == b"PNG"
    matter, _, body = files["site.test/docs/index.md"].decode()[4:].partition("---\n")
    assert yaml.safe_load(matter) == {
        "url": f"{HOST}/docs/",
        "finalUrl": f"{HOST}/docs/?landed",
        "title": "Hello",
        "date": datetime(2025, 11, 15, 18, 30, 1, 123_000, tzinfo=UTC),
        "verdict": "ok",
        "statusCode": 200,
        "screenshot": "index.png",
    }
    assert body == f"\n# Docs\n\n[a](a.md#x) [b]({HOST}/docs/b)\n"


async def test_a_zip_has_html_responses_and_errors_on_request(store: Store) -> None:
    job = await add_job_with(store, some_documents(), failing=["/broken"])
    request = replace(ZIP, include=frozenset(ExportExtra), include_errors=True)
    files = unzip(await export(store, job, request))
    assert files["site.test/paper.pdf.original.pdf"].startswith(b"%PDF")
    assert files["site.test/picture.png.original.png"].startswith(b"\x89PNG")
    assert files["site.test/full.html"].decode() == "<h1>Grüße</h1>"
    assert b'reason: "DNS_ERROR: no such host"' in files["site.test/broken.md"]
    without = unzip(await export(store, job, ZIP))
    assert set(without) == {
        *(f"site.test/{name}.md" for name in ("plain", "full", "paper.pdf", "picture.png", "cut")),
        "site.test/full.png",
    }


async def test_a_page_that_is_gone_has_a_file_that_says_so(store: Store) -> None:
    [page] = some_documents()[:1]
    job = await add_job_with(store, [page])
    await store.invalidate_url(page.url)
    files = unzip(await export(store, job, ZIP))
    assert b"The saved page is gone" in files["site.test/plain.md"]


async def test_one_text_has_all_pages_with_their_titles_and_urls(store: Store) -> None:
    titled = page_at("/a", a_document())
    titled = replace(titled, content=replace(titled.content, markdown="# A\n\nsee [b](../b)"))
    untitled = page_at("/b", a_document())
    untitled = replace(untitled, content=replace(untitled.content, markdown="text"))
    job = await add_job_with(store, [titled, untitled], failing=["/broken"])
    request = ExportRequest(format=ExportFormat.LLMS_FULL, include_errors=True)
    text = (await export(store, job, request)).decode()
    assert (
        f"# A\nSource: {HOST}/a\n\nsee [b]({HOST}/b)\n\n# Hello\nSource: {HOST}/b\n\ntext\n\n"
        in text
    )
    assert (
        f"# {HOST}/broken\nSource: {HOST}/broken\n\nNot fetched: DNS_ERROR: no such host\n" in text
    )
