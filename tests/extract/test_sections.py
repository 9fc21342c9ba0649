from hypothesis import given
from hypothesis import strategies as st

from cinder.extract.sections import Section, find_tables, split_sections

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


def test_headings_divide_a_text_and_code_does_not() -> None:
    sections = split_sections(MARKDOWN)
    assert [(section.level, section.title) for section in sections] == [
        (0, ""),
        (1, "One"),
        (2, "Two"),
    ]
    assert "# not a heading" in sections[1].text
    assert sections[2].text.endswith("####### seven")


def test_tables_are_rows_of_cells() -> None:
    assert find_tables(MARKDOWN) == [[["a", "b | c"], ["1", "2"]]]


def test_a_text_without_headings_is_one_section() -> None:
    assert split_sections("just text") == [Section(0, "", "just text")]
    assert split_sections("") == []


@given(st.text(alphabet="#|`~- a\n"))
def test_any_text_has_sections_and_tables(text: str) -> None:
    split_sections(text)
    find_tables(text)
