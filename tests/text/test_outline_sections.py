"""tests.text.test_outline_sections"""

from hypothesis import given
from hypothesis import strategies as st

from cinder.text.markdown_blocks import find_blocks
from cinder.text.outline import OutlineSection, find_outline, find_tables, split_sections

MARKDOWN = """Before

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
    sections = sections_of(MARKDOWN)
    assert [(section.id, section.level, section.title) for section in sections] == [
        ("top", 0, ""),
        ("one", 1, "One"),
        ("two", 2, "Two"),
    ]
    assert "# not a heading" in sections[1].text
    assert sections[2].text.endswith("####### seven")


def test_tables_are_rows_of_cells() -> None:
    assert find_tables(MARKDOWN, find_blocks(MARKDOWN)) == [[["a", "b | c"], ["1", "2"]]]


def test_a_text_without_headings_is_one_section() -> None:
    assert sections_of("just text") == [OutlineSection("top", 0, "", "just text")]
    assert sections_of("") == []


@given(st.text(alphabet="#|`~- a\n"))
def test_any_text_has_sections_and_tables(text: str) -> None:
    assert all(section.text in text for section in sections_of(text))
    find_tables(text, find_blocks(text))
