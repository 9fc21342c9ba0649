from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.errors import InvalidRequest
from cinder.model.document import Extraction
from cinder.services.excerpt import Window
from cinder.services.reading import (
    has_headings,
    is_structure_kept,
    read_document,
    read_markdown,
    structure_of,
)
from tests.surfaces.documents import a_page

MARKDOWN = """# Ember care

Cover the coals with ash.

## In the morning

Rake the ash aside.

### Kindling

Lay fine kindling on the coals.

## Wood

| Wood | Hours |
| --- | --- |
| Oak | 9 |
"""


def test_a_section_is_read_with_its_subsections() -> None:
    reading = read_markdown(MARKDOWN, Window(0, 1_000, "in-the-morning"))
    start, end = MARKDOWN.index("## In"), MARKDOWN.index("## Wood")
    assert reading.excerpt.text == MARKDOWN[start:end]
    assert reading.section is not None
    assert (reading.section.start, reading.section.chars) == (start, end - start)
    assert [heading.id for heading in reading.outline] == [
        *("ember-care", "in-the-morning", "kindling", "wood"),
    ]


@given(st.text(alphabet="#|`[](). \nab", max_size=300), st.integers(1, 40), st.booleans())
def test_reading_on_from_each_cut_gives_the_whole_section(
    text: str, size: int, is_section: bool
) -> None:
    markdown = f"# One\n\n{text}\n\n# Two\n\nend"
    section = read_markdown(markdown, Window(0, 1_000, "One")) if is_section else None
    whole = section.excerpt.text if section else markdown
    read, start = "", 0
    while True:
        window = Window(start, size, "One" if is_section else None)
        excerpt = read_markdown(markdown, window).excerpt
        assert 0 < len(excerpt.text) <= size
        read += excerpt.text
        if excerpt.next_start is None:
            break
        start = excerpt.next_start
    assert read == whole


def test_an_unknown_section_is_answered_with_the_nearest_and_with_all() -> None:
    with pytest.raises(InvalidRequest) as failure:
        read_markdown(MARKDOWN, Window(0, 1_000, "in-the-mroning"))
    (problem,) = failure.value.problems
    assert (problem.field, problem.message) == (
        "section",
        "The page has no section 'in-the-mroning'. Did you mean 'in-the-morning'? It has: "
        "ember-care, in-the-morning, kindling, wood",
    )


def test_thousands_of_sections_are_not_all_listed() -> None:
    markdown = "\n\n".join(f"## Heading number {n}" for n in range(6_000))
    with pytest.raises(InvalidRequest) as failure:
        read_markdown(markdown, Window(0, 1_000, "nothing like it"))
    message = failure.value.problems[0].message
    assert len(message) < 800
    assert message.endswith("more")


def test_a_page_without_text_has_no_section() -> None:
    with pytest.raises(InvalidRequest, match="It has no text at all"):
        read_markdown("", Window(0, 1_000, "one"))


def test_passages_are_read_in_order_with_their_places() -> None:
    reading = read_markdown(MARKDOWN, Window(0, 1_000, query="coals"))
    assert reading.passages is not None
    first, second = reading.passages
    assert (first.section, second.section) == ("ember-care", "kindling")
    assert reading.excerpt.text == (
        f"[ember-care, {first.start}-{first.end}]\nCover the coals with ash.\n\n"
        f"[kindling, {second.start}-{second.end}]\nLay fine kindling on the coals."
    )
    assert MARKDOWN[first.start : first.end] == "Cover the coals with ash."
    assert not reading.has_more


def test_a_query_can_be_asked_of_one_section() -> None:
    reading = read_markdown(MARKDOWN, Window(0, 1_000, "in-the-morning", "coals"))
    assert [passage.section for passage in reading.passages or ()] == ["kindling"]


def test_a_query_that_finds_nothing_says_so() -> None:
    reading = read_markdown(MARKDOWN, Window(0, 1_000, query="submarines"))
    assert (reading.excerpt.text, reading.passages) == ("", ())
    assert reading.notices[0].startswith("Nothing in the text matches 'submarines'")


def test_passages_that_do_not_fit_are_counted() -> None:
    markdown = "\n\n".join(f"# Part {n}\n\nAn ember of kind {n}." for n in range(30))
    reading = read_markdown(markdown, Window(0, 100, query="ember"))
    assert 0 < len(reading.excerpt.text) <= 100
    assert reading.has_more
    assert reading.notices == ("30 passages match the query in the text; the best 2 are shown.",)


def test_a_part_that_begins_within_code_says_so() -> None:
    markdown = "```python\n" + "x = 1\n" * 40 + "```"
    first = read_markdown(markdown, Window(0, 100))
    assert first.notices == ()
    second = read_markdown(markdown, Window(first.excerpt.end, 100))
    assert second.notices == ("It begins inside a code block that was opened with ```python.",)


@pytest.mark.parametrize(
    ("content_type", "url", "expected"),
    [
        ("text/plain; charset=utf-8", "https://example.com/robots.txt", False),
        ("text/plain", "https://example.com/README.md?raw=1", True),
        ("text/plain", "https://example.com/llms.txt", True),
        ("text/markdown", "https://example.com/notes", True),
        ("text/html", "https://example.com/", True),
    ],
)
def test_comments_of_plain_text_are_no_headings(
    content_type: str, url: str, expected: bool
) -> None:
    page = replace(a_page(), content_type=content_type, final_url=url)
    assert has_headings(page) is expected


def test_a_text_without_headings_is_one_part() -> None:
    reading = read_markdown("# a comment\nx = 1", Window(0, 100), has_headings=False)
    assert [heading.id for heading in reading.outline] == ["top"]


def test_a_documents_structure_is_computed_once() -> None:
    document = replace(a_page(), content=Extraction(markdown=MARKDOWN))
    assert not is_structure_kept(document)
    first = structure_of(document)
    assert structure_of(replace(document, url="https://other.example/")) is first
    assert is_structure_kept(document)
    window = Window(5, 40, "in-the-morning")
    assert read_document(document, window) == read_markdown(MARKDOWN, window)


def test_a_changed_text_has_a_structure_of_its_own() -> None:
    document = replace(a_page(), content=Extraction(markdown=MARKDOWN))
    structure_of(document)
    changed = replace(document, content=replace(document.content, markdown="# Other"))
    assert [heading.title for heading in structure_of(changed).outline] == ["Other"]


def test_a_structure_far_larger_than_its_text_is_not_kept() -> None:
    document = replace(a_page(), content=Extraction(markdown="- a\n" * 10_000))
    assert len(structure_of(document).blocks) == 10_000
    assert not is_structure_kept(document)
