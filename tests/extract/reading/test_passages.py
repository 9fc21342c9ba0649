from cinder.extract.reading.blocks import find_blocks
from cinder.extract.reading.outline import find_outline
from cinder.extract.reading.passages import SEARCHED_CHARS, Passage, find_passages

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


def find(markdown: str, query: str) -> list[Passage]:
    blocks = find_blocks(markdown)
    return find_passages(markdown, blocks, find_outline(markdown, blocks), query)


def texts(markdown: str, query: str) -> list[str]:
    return [markdown[found.start : found.end] for found in find(markdown, query)]


def test_the_best_passage_comes_first_whatever_the_form_of_the_words() -> None:
    found = find(MARKDOWN, "What is covering a coal?")
    assert found[0].section == "keeping-embers"
    assert MARKDOWN[found[0].start : found[0].end].startswith("Cover the coals")


def test_items_of_a_list_are_one_passage_and_tables_and_code_are_searched() -> None:
    found = texts(MARKDOWN, "oak")
    assert sorted(found) == [
        "- Oak glows for nine hours.\n- Birch glows for five.",
        "```python\nburn(oak)\n```",
        "| Wood | Hours |\n| --- | --- |\n| Oak | 9 |",
    ]


def test_words_of_a_heading_count_for_what_stands_beneath() -> None:
    assert {found.section for found in find(MARKDOWN, "keeping embers")} == {"keeping-embers"}


def test_a_title_above_everything_does_not_make_everything_match() -> None:
    assert texts(MARKDOWN, "fire")[0] == "Every fire needs air."


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
