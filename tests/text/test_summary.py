"""tests.text.test_summary"""

from cinder.text.markdown_blocks import find_blocks
from cinder.text.summary import EXTRACTIVE, Summary, summarize

ARTICLE = """# Keeping a fire overnight

[Home](/) [About](/about)

Embers keep a fire alive overnight when they are covered with [ash](http://x/y). The ash keeps air
away from the embers, and so they burn slowly until morning.

| Wood | Hours are told in a table. |
| --- | --- |
| Oak | The table says that oak glows for nine hours. |

The ash keeps the air away from the embers, so that they burn slowly until the morning.

```text
The code says that embers are covered with ash and glow overnight.
```

My neighbour once bought a blue bicycle in a shop near the station. It was raining that day.

In the morning the ash is raked aside and kindling is laid on the embers. A little air makes the
fire burn again within minutes.

Read more about it:

The oldest known hearth was kept alive overnight with embers and ash for many years. Dry oak makes
the longest lasting embers of all kinds of wood.
"""


def summary(markdown: str) -> Summary:
    return summarize(markdown, find_blocks(markdown))


def test_a_summary_is_sentences_of_the_text_in_their_order() -> None:
    made = summary(ARTICLE)
    assert made.method == EXTRACTIVE
    assert 3 <= len(made.places) <= 7
    assert list(made.places) == sorted(made.places)
    assert made.text.startswith(
        "Embers keep a fire alive overnight when they are covered with ash."
    )


def test_places_lead_to_the_sentences_in_the_markdown() -> None:
    made = summary(ARTICLE)
    start, end = made.places[0]
    assert ARTICLE[start:end].startswith("Embers keep a fire alive")
    assert ARTICLE[start:end].endswith("[ash](http://x/y).")


def test_links_tables_code_and_scraps_are_left_out() -> None:
    made = summary(ARTICLE)
    for scrap in ("Home", "table", "code says", "Read more", "http"):
        assert scrap not in made.text


def test_what_is_said_twice_is_summarised_once() -> None:
    assert summary(ARTICLE).text.count("burn slowly until") == 1


def test_the_same_text_has_the_same_summary() -> None:
    assert summary(ARTICLE) == summary(ARTICLE)


def test_a_short_text_is_its_own_summary() -> None:
    text = "Embers keep a fire alive overnight. Oak glows for nine hours or more."
    assert summary(text) == Summary(text, EXTRACTIVE, ((0, 35), (36, 69)))


def test_languages_that_put_no_space_between_sentences_are_summarised() -> None:
    first = "\u706b\u306f\u7070\u306e\u4e0b\u3067\u4e00\u6669\u4e2d\u71c3\u3048\u308b\u3002"
    second = "\u671d\u306b\u306a\u308b\u3068\u7070\u3092\u6398\u308a\u8d77\u3053\u3059\u3002"
    assert summary(first + second).text == first + second


def test_a_text_without_sentences_has_no_summary() -> None:
    assert summary("| a | b |\n| --- | --- |\n| 1 | 2 |").text == ""
    assert summary("").places == ()


def test_where_there_is_no_prose_lists_are_summarised() -> None:
    items = "- Oak glows for nine hours in the ash.\n- Birch glows for five hours in it."
    assert summary(items).text == (
        "Oak glows for nine hours in the ash. Birch glows for five hours in it."
    )
