"""Documents read whole, by section, by query, and as JSON."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.errors import InvalidRequest
from cinder.models.document import Document, Extraction, FetchSource, PageMetadata
from cinder.services.excerpt import TextWindow
from cinder.services.reading import (
    ShownPassages,
    has_headings,
    is_structure_kept,
    page_as_json,
    read_document,
    read_markdown,
    show_passages,
    structure_of,
)
from cinder.text.markdown_blocks import find_blocks
from cinder.text.outline import find_outline
from cinder.text.query_passages import find_passages
from tests.api.documents import a_page

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
    reading = read_markdown(MARKDOWN, TextWindow(0, 1_000, "in-the-morning"))
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
    section = read_markdown(markdown, TextWindow(0, 1_000, "One")) if is_section else None
    whole = section.excerpt.text if section else markdown
    read, start = "", 0
    while True:
        window = TextWindow(start, size, "One" if is_section else None)
        excerpt = read_markdown(markdown, window).excerpt
        assert 0 < len(excerpt.text) <= size
        read += excerpt.text
        if not excerpt.was_truncated:
            break
        start += len(excerpt.text)
    assert read == whole


def test_an_unknown_section_is_answered_with_the_nearest_and_with_all() -> None:
    with pytest.raises(InvalidRequest) as failure:
        read_markdown(MARKDOWN, TextWindow(0, 1_000, "in-the-mroning"))
    (problem,) = failure.value.problems
    assert (problem.field, problem.message) == (
        "section",
        "The page has no section 'in-the-mroning'. Did you mean 'in-the-morning'? It has: "
        "ember-care, in-the-morning, kindling, wood",
    )


def test_thousands_of_sections_are_not_all_listed() -> None:
    markdown = "\n\n".join(f"## Heading number {n}" for n in range(6_000))
    with pytest.raises(InvalidRequest) as failure:
        read_markdown(markdown, TextWindow(0, 1_000, "nothing like it"))
    message = failure.value.problems[0].message
    assert len(message) < 800
    assert message.endswith("more")


def test_a_page_without_text_has_no_section() -> None:
    with pytest.raises(InvalidRequest, match="It has no text at all"):
        read_markdown("", TextWindow(0, 1_000, "one"))


def test_passages_are_read_in_order_with_their_places() -> None:
    reading = read_markdown(MARKDOWN, TextWindow(0, 1_000, query="coals"))
    assert reading.passages is not None
    first, second = reading.passages
    assert (first.section, second.section) == ("ember-care", "kindling")
    assert reading.excerpt.text == (
        f"[ember-care, {first.start}-{first.end}]\n# Ember care\n\nCover the coals with ash.\n\n"
        f"[kindling, {second.start}-{second.end}]\n### Kindling\n\nLay fine kindling on the coals."
    )
    assert MARKDOWN[first.start : first.end] == "# Ember care\n\nCover the coals with ash."
    assert not reading.has_more


def test_a_query_can_be_asked_of_one_section() -> None:
    reading = read_markdown(MARKDOWN, TextWindow(0, 1_000, "in-the-morning", "coals"))
    assert [passage.section for passage in reading.passages or ()] == ["kindling"]


def test_a_query_that_finds_nothing_says_so() -> None:
    reading = read_markdown(MARKDOWN, TextWindow(0, 1_000, query="submarines"))
    assert (reading.excerpt.text, reading.passages) == ("", ())
    assert reading.notices[0].startswith("Nothing in the text matches 'submarines'")


def test_passages_that_do_not_fit_are_counted() -> None:
    markdown = "\n\n".join(f"# Part {n}\n\nAn ember of kind {n}." for n in range(30))
    reading = read_markdown(markdown, TextWindow(0, 100, query="ember"))
    assert 0 < len(reading.excerpt.text) <= 100
    assert reading.has_more
    assert reading.notices == (
        "30 passages match the query in the text; the best 2 are shown.",
        "Ask again with startIndex 2 for the next ones.",
    )
    assert reading.next_start == 2


def test_a_part_that_begins_within_code_says_so() -> None:
    markdown = "```python\n" + "x = 1\n" * 40 + "```"
    first = read_markdown(markdown, TextWindow(0, 100))
    assert first.notices == ()
    second = read_markdown(markdown, TextWindow(first.excerpt.end, 100))
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
    reading = read_markdown("# a comment\nx = 1", TextWindow(0, 100), has_headings=False)
    assert [heading.id for heading in reading.outline] == ["top"]


def test_a_documents_structure_is_computed_once() -> None:
    document = replace(a_page(), content=Extraction(markdown=MARKDOWN))
    assert not is_structure_kept(document)
    first = structure_of(document)
    assert structure_of(replace(document, url="https://other.example/")) is first
    assert is_structure_kept(document)
    window = TextWindow(5, 40, "in-the-morning")
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


def document(markdown: str) -> Document:
    return Document(
        url="https://example.com/",
        final_url="https://example.com/",
        status_code=200,
        source=FetchSource.NATIVE,
        strategy="native",
        content_type="text/html",
        scraped_at=datetime(2025, 11, 15, tzinfo=UTC),
        load_time_ms=1,
        content=Extraction(
            markdown=markdown,
            links=("https://example.com/a",),
            metadata=PageMetadata(title="Title", author="Ada"),
        ),
    )


def test_a_page_is_told_in_parts() -> None:
    page, cut = page_as_json(document("Before\n\n# One\n\ntext\n\n## Two\n\nmore"), 10_000)
    assert cut == []
    assert page["metadata"] == {"author": "Ada"}
    assert page["outline"] == [
        {"id": "top", "level": 0, "title": "", "start": 0, "chars": 8, "tokens": 2},
        {"id": "one", "level": 1, "title": "One", "start": 8, "chars": 25, "tokens": 7},
        {"id": "two", "level": 2, "title": "Two", "start": 21, "chars": 12, "tokens": 3},
    ]
    assert page["sections"] == [
        {"id": "top", "level": 0, "title": "", "text": "Before"},
        {"id": "one", "level": 1, "title": "One", "text": "text"},
        {"id": "two", "level": 2, "title": "Two", "text": "more"},
    ]
    assert page["links"] == ["https://example.com/a"]


def test_a_long_page_keeps_text_beside_its_outline_and_fits() -> None:
    markdown = "\n\n".join(f"## Heading {n}\n\n{'word ' * 20}" for n in range(3_000))
    page, cut = page_as_json(document(markdown), 20_000)
    assert len(json.dumps(page)) <= 20_000
    assert page["outline"]
    assert page["sections"]
    assert {"outline", "sections"} <= set(cut)


def test_a_section_longer_than_the_room_is_begun_and_told_at_its_real_length() -> None:
    page, cut = page_as_json(document(f"# One\n\n{'word ' * 3_000}"), 10_000)
    assert len(json.dumps(page)) <= 10_000
    assert page["outline"] == [
        {"id": "one", "level": 1, "title": "One", "start": 0, "chars": 15_007, "tokens": 3_752}
    ]
    assert page["sections"]
    assert cut == ["sections"]


def show(markdown: str, query: str, max_chars: int) -> ShownPassages:
    blocks = find_blocks(markdown)
    outline = find_outline(markdown, blocks)
    found = find_passages(markdown, blocks, outline, query)
    return show_passages(markdown, outline, found, max_chars)


def test_neighbours_become_one_passage() -> None:
    shown = show("An ember.\n\nAnother ember.\n\nAsh.", "ember", 1_000)
    assert shown.text == "[top, 0-31]\nAn ember.\n\nAnother ember.\n\nAsh."
    long = "Ash. " * 100
    shown = show(f"An ember. {long}\n\nAnother ember. {long}", "ember", 2_000)
    assert shown.text.count("[top, ") == 1
    assert (len(shown.passages), shown.count) == (1, 2)


def test_rows_of_a_long_table_are_shown_beneath_its_first_row() -> None:
    rows = "\n".join(f"| wood{n} | {n} hours of glow in the ash |" for n in range(200))
    shown = show(f"| Wood | Hours |\n| --- | --- |\n{rows}", "wood150", 2_000)
    head, first, rule, *found = shown.text.split("\n")
    assert head.startswith("[top, ")
    assert (first, rule) == ("| Wood | Hours |", "| --- | --- |")
    assert "| wood150 | 150 hours of glow in the ash |" in found
    assert len(found) < 40


def test_code_that_is_too_long_ends_at_a_line_and_is_closed() -> None:
    shown = show("~~~~py\n" + "ember = 1\n" * 100 + "~~~~", "ember", 150)
    assert len(shown.text) <= 150
    assert shown.is_cut
    assert shown.text.startswith("[top, 0-")
    assert "]\n~~~~py\nember = 1\n" in shown.text
    assert shown.text.endswith("\nember = 1\n~~~~")


def test_passages_fill_the_room_there_is() -> None:
    markdown = "\n\n".join(f"# Part {n}\n\nAn ember of kind {n}." for n in range(30))
    assert show(markdown, "ember", 100_000).count == 30
    assert 900 < len(show(markdown, "ember", 1_000).text) <= 1_000


def test_reading_goes_on_where_the_passages_ended() -> None:
    markdown = "\n\n".join(
        f"# Part {n}\n\nAn ember of kind {n}{' of ash' * (n % 7)}." for n in range(30)
    )
    start: int | None = 0
    seen: list[int] = []
    while start is not None:
        reading = read_markdown(markdown, TextWindow(start, 300, query="ember"))
        assert 0 < len(reading.excerpt.text) <= 300
        seen += [int(kind) for kind in re.findall(r"of kind (\d+)", reading.excerpt.text)]
        start = reading.next_start
    assert sorted(seen) == list(range(30))
    after = read_markdown(markdown, TextWindow(30, 300, query="ember"))
    assert (after.excerpt.text, after.next_start) == ("", None)
    assert after.notices == ("30 passages match the query in the text; no more follow.",)


def test_a_passage_is_shown_beneath_its_heading_and_its_term() -> None:
    filling = "Words about nothing at all. " * 15
    markdown = f"# Tools\n\n- **tongs(*size*)**:\n\n  {filling}\n\n  Grips a coal."
    shown = show(markdown, "coal", 300)
    head, *rest = shown.text.split("\n")
    assert head.endswith("] Tools")
    assert rest == ["- **tongs(*size*)**", "Grips a coal."]


def test_links_in_prose_are_shown_as_text_and_lists_of_links_as_links() -> None:
    prose = "The [ember](http://x/1) glows for [hours](http://x/2) beneath `[ash](y)` of oak."
    assert show(prose, "ember", 500).text.endswith(
        "The ember glows for hours beneath `[ash](y)` of oak."
    )
    listed = "- [Ember one](http://x/1)\n- [Ember two](http://x/2)"
    assert show(listed, "ember", 500).text.endswith(listed)


def test_a_part_of_a_code_block_is_code() -> None:
    code = "\n".join(f"burn(log{n})" for n in range(200))
    shown = show(f"```py\n{code}\n```", "log150", 700)
    assert shown.text.split("\n")[1] == "```py"
    assert shown.text.endswith("\n```")


@given(
    st.lists(st.sampled_from(["ember ash", "# ember", "```\nember\n```", "| ember |"])),
    st.integers(1, 200),
)
def test_the_text_is_never_longer_than_it_may_be(blocks: list[str], size: int) -> None:
    assert len(show("\n\n".join(blocks), "ember", size).text) <= size
