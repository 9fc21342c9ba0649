"""Finding the passages that answer a query."""

import pytest

from cinder.text.markdown_blocks import find_blocks
from cinder.text.outline import find_outline
from cinder.text.query_passages import SEARCHED_CHARS, MatchedPassage, find_passages

MARKDOWN = """# Fires

Every fire needs air.

## Keeping embers

Cover the coals with ash before you go to bed.

- Oak glows for nine hours.
- Birch glows for five.

## Wood

| Wood | Hours |
| --- | --- |
| Oak | 9 |

```python
burn(oak)
```

## \u706b\u306e\u4e16\u8a71

\u708e\u306f\u7070\u306e\u4e0b\u3067\u4e00\u6669\u4e2d\u71c3\u3048\u308b\u3002
"""


def find(markdown: str, query: str) -> list[MatchedPassage]:
    blocks = find_blocks(markdown)
    return find_passages(markdown, blocks, find_outline(markdown, blocks), query)


def texts(markdown: str, query: str) -> list[str]:
    return [markdown[found.start : found.end] for found in find(markdown, query)]


def test_the_best_passage_comes_first_whatever_the_form_of_the_words() -> None:
    found = find(MARKDOWN, "What is covering a coal?")
    assert found[0].section == "keeping-embers"
    assert "Cover the coals" in MARKDOWN[found[0].start : found[0].end]


def test_items_of_a_list_are_one_passage_and_tables_and_code_are_searched() -> None:
    found = "\n".join(texts(MARKDOWN, "oak"))
    for part in (
        "- Oak glows for nine hours.\n- Birch glows for five.",
        "```python\nburn(oak)\n```",
        "| Wood | Hours |\n| --- | --- |\n| Oak | 9 |",
    ):
        assert part in found


def test_words_of_a_heading_count_for_what_stands_beneath() -> None:
    assert {found.section for found in find(MARKDOWN, "keeping embers")} == {"keeping-embers"}


def test_a_title_above_everything_does_not_make_everything_match() -> None:
    assert texts(MARKDOWN, "fire")[0].endswith("Every fire needs air.")


def test_scripts_without_spaces_are_searched() -> None:
    (found,) = find(MARKDOWN, "\u4e00\u6669\u4e2d")
    assert found.section == "\u706b\u306e\u4e16\u8a71"


def test_nothing_is_found_where_no_word_occurs() -> None:
    assert find(MARKDOWN, "submarine") == []
    assert find(MARKDOWN, "?!") == []
    assert find("", "ash") == []


def test_a_very_long_paragraph_is_searched_in_parts() -> None:
    markdown = " ".join(f"word{n}" for n in range(30_000))
    (found,) = find(markdown, "word29000")
    assert "word29000" in markdown[found.start : found.end]
    assert found.end - found.start <= 1_000


def test_what_lies_too_far_on_is_not_searched() -> None:
    markdown = f"ash\n\n{'x' * SEARCHED_CHARS}\n\nember"
    assert texts(markdown, "ash ember") == ["ash"]


LONG = "Further words on something else, which fill this paragraph up to some length. " * 4
REFERENCE = f"""# os

- **os.urandom(*size*)**:

  Return a bytestring of random bytes suitable for cryptographic use.

  {LONG}

  On Windows, it will use `BCryptGenRandom()`.

- **os.cpu_count()** : Return the number of processors. {LONG}

**PRAGMA cache_size;**

{LONG}

Sets the number of pages in memory.

---

The format has these codes:

- first code. {LONG}
- second code. {LONG}
"""


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("BCryptGenRandom", "- **os.urandom(*size*)**"),
        ("pages in memory", "**PRAGMA cache_size;**"),
        ("second", "The format has these codes:"),
    ],
)
def test_a_passage_has_the_line_that_defines_it(query: str, line: str) -> None:
    best = find(REFERENCE, query)[0]
    assert line in [REFERENCE[start:end] for start, end in best.lines]


def test_a_definition_that_is_short_is_one_passage_with_its_term() -> None:
    best = texts(REFERENCE, "random bytes for cryptography")[0]
    assert "- **os.urandom(*size*)**:\n\n  Return a bytestring" in best


def test_a_term_counts_for_all_that_is_beneath_it() -> None:
    found = texts(REFERENCE, "urandom on Windows")
    assert "BCryptGenRandom" in found[0]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("folder", "Creates a directory."),
        ("cryptography", "For cryptographic use."),
        ("set up remote", "push.autoSetupRemote is on."),
        ("stash", "Use --autostash here."),
        ("ignore", "A case-insensitive test."),
        ("k1", "The constants k₁ and b are fixed."),
    ],
)
def test_other_forms_parts_and_synonyms_of_a_word_are_found(query: str, found: str) -> None:
    assert texts(f"Nothing of it here.\n\n---\n\n{found}", query) == [found]


def test_a_short_line_under_a_heading_stays_with_the_text_that_explains_it() -> None:
    text = "The most fields that a form may have. " * 9
    best = texts(f"## MAX_FIELDS\n\nDefault: 1000\n\n{text}", "fields of a form")
    assert best[0].startswith("## MAX_FIELDS\n\nDefault: 1000\n\nThe most fields")


def test_rows_of_a_table_and_lines_of_code_are_passages_of_their_own() -> None:
    rows = "\n".join(f"| wood{n} | {n} hours |" for n in range(100))
    code = "\n".join(f"burn(log{n})" for n in range(200))
    markdown = f"| Wood | Hours |\n| --- | --- |\n{rows}\n\n```py\n{code}\n```"
    row, line = find(markdown, "wood70")[0], find(markdown, "log150")[0]
    assert markdown[slice(*row.lines[-1])] == "| Wood | Hours |\n| --- | --- |"
    assert markdown[slice(*line.lines[-1])] == "```py"
    assert row.end - row.start <= 250
    assert line.end - line.start <= 600
