"""How much the extractor finds on generated pages, and that what it calls verified is there."""

from collections.abc import Callable

import pytest

from cinder.documents.page_content import extract_content
from cinder.extraction.filling import extract_fields
from cinder.models.extraction import ExtractedData, Grounding, QuotedText
from cinder.models.request import ExtractOptions
from tests.extraction.pages.facts import Page
from tests.extraction.pages.generator import generate_pages
from tests.extraction.pages.scoring import Score, score_data

Read = tuple[Page, str, ExtractedData]


@pytest.fixture(scope="module")
def read_pages() -> Callable[[bool], list[Read]]:
    known: dict[bool, list[Read]] = {}

    def read(is_held_out: bool) -> list[Read]:
        if is_held_out not in known:
            known[is_held_out] = [_read(page) for page in generate_pages(is_held_out=is_held_out)]
        return known[is_held_out]

    return read


def _read(page: Page) -> Read:
    content = extract_content(
        page.html.encode(),
        content_type="text/html; charset=utf-8",
        url=page.url,
        options=ExtractOptions(),
    )
    markdown = content.markdown or ""
    return page, markdown, extract_fields(page.html, markdown, url=page.url, schema=page.schema)


@pytest.mark.parametrize(
    ("is_held_out", "precision", "recall"), [(False, 0.98, 0.97), (True, 0.9, 0.75)]
)
def test_values_are_right_and_most_of_them_are_found(
    read_pages: Callable[[bool], list[Read]], is_held_out: bool, precision: float, recall: float
) -> None:
    read = read_pages(is_held_out)
    total = sum((score_data(found.data, page.truth) for page, _, found in read), Score())
    assert total.precision >= precision
    assert total.recall >= recall


def test_there_are_enough_pages_of_enough_kinds() -> None:
    pages = [*generate_pages(is_held_out=False), *generate_pages(is_held_out=True)]
    tuned = {page.template for page in pages if not page.is_held_out}
    held_out = {page.template for page in pages if page.is_held_out}
    assert len(pages) >= 150
    assert len({page.kind for page in pages}) >= 10
    assert not tuned & held_out


def test_pages_are_the_same_for_the_same_seed() -> None:
    assert generate_pages(3, is_held_out=True) == generate_pages(3, is_held_out=True)
    assert generate_pages(3, is_held_out=True) != generate_pages(4, is_held_out=True)


@pytest.mark.parametrize("is_held_out", [False, True])
def test_no_verified_value_is_absent_from_its_page(
    read_pages: Callable[[bool], list[Read]], is_held_out: bool
) -> None:
    for page, markdown, found in read_pages(is_held_out):
        for value in found.values:
            for each in value.evidence:
                if each.grounding is not Grounding.VERIFIED:
                    continue
                text = markdown if each.text is QuotedText.MARKDOWN else page.html
                assert text[each.start : each.end] == each.quote
                if isinstance(value.value, str):
                    assert value.value == each.quote
                else:
                    assert value.value == float(each.quote)


@pytest.mark.parametrize("is_held_out", [False, True])
def test_every_wanted_value_is_there_or_named_as_missing(
    read_pages: Callable[[bool], list[Read]], is_held_out: bool
) -> None:
    for page, _, found in read_pages(is_held_out):
        assert isinstance(found.data, dict)
        properties = page.schema["properties"]
        assert isinstance(properties, dict)
        for name in properties:
            lacks = any(path == name or path.startswith(f"{name}.") for path in found.missing)
            assert name in found.data or lacks
