"""Fragments of HTML and the exact markdown that each becomes, from the files in `fidelity`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cinder.documents.page_content import extract_content
from cinder.models.request import ContentOptions, ExtractOptions

_FOLDER = Path(__file__).parent / "fidelity"
_CASE = "===== "
_BECOMES = "\n----- becomes\n"
_OPTIONS = ExtractOptions(content=ContentOptions(only_main_content=False))


def _fragments() -> Iterator[tuple[str, str, str]]:
    for path in sorted(_FOLDER.glob("*.txt")):
        text = "\n" + path.read_text(encoding="utf-8")
        for case in text.removesuffix("\n").split(f"\n{_CASE}")[1:]:
            name, _, rest = case.partition("\n")
            html, _, markdown = rest.partition(_BECOMES)
            yield f"{path.stem}: {name}", html, markdown


_FRAGMENTS = list(_fragments())


def _markdown_of(html: str) -> str | None:
    return extract_content(
        html.encode(),
        content_type="text/html; charset=utf-8",
        url="https://example.org/docs/page",
        options=_OPTIONS,
    ).markdown


@pytest.mark.parametrize(
    ("html", "markdown"), [pytest.param(*case, id=name) for name, *case in _FRAGMENTS]
)
def test_a_fragment_becomes_exactly_its_markdown(html: str, markdown: str) -> None:
    assert _markdown_of(html) == markdown


def test_the_suite_is_whole() -> None:
    assert len(_FRAGMENTS) >= 120
    assert len({name for name, *_ in _FRAGMENTS}) == len(_FRAGMENTS)


def test_all_fragments_in_one_page_become_the_same_bytes_every_time() -> None:
    page = "".join(f"<section>{html}</section>" for _, html, _ in _FRAGMENTS)
    assert len({_markdown_of(page) for _ in range(3)}) == 1
