"""The outline of a markdown text, its sections and tables."""

from hypothesis import given
from hypothesis import strategies as st

from cinder.text.markdown_blocks import find_blocks
from cinder.text.outline import (
    OutlineHeading,
    OutlineSection,
    find_heading,
    find_outline,
    find_tables,
    nearest_ids,
    split_sections,
)

MARKDOWN = """Before it all

# Ember care

Ash.

## [Install](http://x/y) `it`

One.

### Install it

Two.

## What's new?

Three.

# \u706b\u306e\u4e16\u8a71
"""


def outline(markdown: str) -> tuple[OutlineHeading, ...]:
    return find_outline(markdown, find_blocks(markdown))


def test_every_heading_has_an_id_a_rank_and_a_title() -> None:
    assert [(h.id, h.level, h.title) for h in outline(MARKDOWN)] == [
        ("top", 0, ""),
        ("ember-care", 1, "Ember care"),
        ("install-it", 2, "Install it"),
        ("install-it-2", 3, "Install it"),
        ("what-s-new", 2, "What's new?"),
        ("\u706b\u306e\u4e16\u8a71", 1, "\u706b\u306e\u4e16\u8a71"),
    ]


def test_a_section_reaches_to_the_next_heading_of_its_rank() -> None:
    sections = {h.id: MARKDOWN[h.start : h.end] for h in outline(MARKDOWN)}
    assert sections["top"] == "Before it all\n\n"
    assert sections["install-it"].endswith("Two.\n\n")
    assert sections["install-it-2"] == "### Install it\n\nTwo.\n\n"
    assert sections["ember-care"].endswith("Three.\n\n")


def test_sizes_are_those_of_the_section_with_its_subsections() -> None:
    install = outline(MARKDOWN)[2]
    assert install.chars == len(
        "## [Install](http://x/y) `it`\n\nOne.\n\n### Install it\n\nTwo.\n\n"
    )
    assert install.tokens == 16


def test_a_text_without_headings_is_one_section_and_no_text_is_none() -> None:
    assert outline("just text") == (OutlineHeading("top", 0, "", 0, 9, 0),)
    assert outline("\n\n") == ()


def test_a_section_is_found_by_id_title_or_the_beginning_of_one() -> None:
    headings = outline(MARKDOWN)
    for wanted in ("ember-care", "EMBER care", "Emb", " ember-care "):
        assert find_heading(headings, wanted) == headings[1]
    assert find_heading(headings, "install-it-2") == headings[3]
    assert find_heading(headings, "Install it") == headings[2]
    assert find_heading(headings, "what's") == headings[4]


def test_an_ambiguous_beginning_finds_nothing_but_is_near() -> None:
    headings = outline(MARKDOWN)
    assert find_heading(headings, "inst") is None
    assert nearest_ids(headings, "inst") == ["install-it", "install-it-2"]
    assert nearest_ids(headings, "ember-caer") == ["ember-care"]
    assert find_heading(headings, "  ") is None


def test_a_title_like_the_id_of_what_stands_on_top_is_still_found() -> None:
    headings = outline("text\n\n# Top\n\nmore")
    assert [heading.id for heading in headings] == ["top", "top-2"]
    assert find_heading(headings, "Top") == headings[1]


def test_a_long_title_has_a_short_id_that_ends_with_a_word() -> None:
    (heading,) = outline("# " + "embers glow " * 20)
    assert heading.id == "-".join(["embers", "glow"] * 5)


@given(st.lists(st.sampled_from(["# a", "## a", "# a 2", "# !", "### a-2", "text"])))
def test_ids_are_unique_and_sections_nest(lines: list[str]) -> None:
    markdown = "\n\n".join(lines)
    headings = outline(markdown)
    assert len({heading.id for heading in headings}) == len(headings)
    for heading in headings:
        inside = [h for h in headings if heading.start < h.start < heading.end]
        assert all(h.level > heading.level and h.end <= heading.end for h in inside)


def test_a_page_mark_before_a_heading_is_of_its_section() -> None:
    markdown = "<!-- page 3 -->\n\n# One\n\nAsh.\n\n<!-- page 4 -->\n\n# Two\n\nSoot.\n"
    sections = {h.id: markdown[h.start : h.end] for h in outline(markdown)}
    assert sections == {
        "one": "<!-- page 3 -->\n\n# One\n\nAsh.\n\n",
        "two": "<!-- page 4 -->\n\n# Two\n\nSoot.\n",
    }


def test_a_page_mark_within_a_section_stays_there() -> None:
    markdown = "# One\n\nAsh.\n\n<!-- page 4 -->\n\nSoot.\n\n# Two\n"
    assert outline(markdown)[1].start == markdown.index("# Two")


SECTIONED = """Before

# One #

text

```python
# not a heading
| not | a table |
```

## Two

| a | b \\| c |
| --- | :-: |
| 1 | 2 |

####### seven
"""


def sections_of(markdown: str) -> list[OutlineSection]:
    return split_sections(markdown, find_outline(markdown, find_blocks(markdown)))


def test_headings_divide_a_text_and_code_does_not() -> None:
    sections = sections_of(SECTIONED)
    assert [(section.id, section.level, section.title) for section in sections] == [
        ("top", 0, ""),
        ("one", 1, "One"),
        ("two", 2, "Two"),
    ]
    assert "# not a heading" in sections[1].text
    assert sections[2].text.endswith("####### seven")


def test_tables_are_rows_of_cells() -> None:
    assert find_tables(SECTIONED, find_blocks(SECTIONED)) == [[["a", "b | c"], ["1", "2"]]]


def test_a_text_without_headings_is_one_section() -> None:
    assert sections_of("just text") == [OutlineSection("top", 0, "", "just text")]
    assert sections_of("") == []


@given(st.text(alphabet="#|`~- a\n"))
def test_any_text_has_sections_and_tables(text: str) -> None:
    assert all(section.text in text for section in sections_of(text))
    find_tables(text, find_blocks(text))


def test_sections_of_other_scripts_have_more_tokens() -> None:
    assert [heading.tokens for heading in outline("木" * 40)] == [30]
