"""Passages ranked by the fields and the prompt of an extraction."""

import time
from random import Random

from cinder.extraction.field_specs import read_schema
from cinder.extraction.passage_ranking import (
    MAX_ASPECTS,
    build_passage_query,
    find_aspects,
    rank_passages,
)
from cinder.models.document import Json
from cinder.models.extraction import PassageQuery, QueriedField, RankedPassage, ValueSign

FILLER = "The works of the harbour went on as in the years before, and nobody complained of it. "
PAGES = 300


def rank(
    markdown: str, *fields: str, prompt: str = "", limit: int = 10
) -> tuple[RankedPassage, ...]:
    asked = tuple(QueriedField(name=name) for name in fields)
    return rank_passages(markdown, PassageQuery(prompt=prompt, fields=asked), limit)


def chapter(title: str, text: str) -> str:
    return f"## {title}\n\n{FILLER * 8}\n\n{text}"


def document(*texts: str) -> str:
    return "\n\n".join(chapter(f"Part {number}", text) for number, text in enumerate(texts))


def book(pages: int = PAGES) -> str:
    """Return a text of so many pages; its last sentence has a fact that no other has."""
    random = Random(7)
    words = [
        "".join(random.choices("abcdefghijklmno", k=random.randint(2, 9))) for _ in range(5_000)
    ]
    written = [
        f"## Chapter {page}\n\n"
        + "\n\n".join(" ".join(random.choices(words, k=75)).capitalize() + "." for _ in range(7))
        for page in range(pages)
    ]
    return "\n\n".join(written) + "\n\nThe guarantee of the Ember kettle runs for 37 months."


def test_passages_are_exact_and_their_ids_do_not_depend_on_the_question() -> None:
    markdown = document("Oak glows for nine hours.", "Birch glows for five.")
    found = rank(markdown, prompt="How long does birch glow?")
    assert [markdown[each.start : each.end] for each in found] == [each.text for each in found]
    assert "Birch" in found[0].text
    assert found[0].heading == "Part 1"
    others = rank(f"# New\n\n{FILLER * 8}\n\n{markdown}", prompt="oak")
    assert {each.id for each in found} < {each.id for each in others}


def test_text_that_is_said_twice_has_two_ids() -> None:
    found = rank(f"{chapter('A', 'x')}\n\n{chapter('A', 'x')}")
    assert len({each.id for each in found}) == len(found) == 2


def test_a_field_is_found_by_another_word_for_it() -> None:
    markdown = document("Nothing here.", "Written by Ada Byron.", "The cost is 12 euros.")
    assert "Ada Byron" in rank(markdown, "author")[0].text
    assert "12 euros" in rank(markdown, "price")[0].text


def test_the_words_of_headings_count() -> None:
    markdown = f"{chapter('Opening hours', 'Daily from ten.')}\n\n{chapter('Wood', 'Oak and ash.')}"
    found = rank(markdown, "openingHours")
    assert found[0].heading == "Opening hours"
    assert found[0].score > 0


def test_a_passage_beside_a_hit_comes_before_others() -> None:
    beside = "Twelve euros. " * 80
    markdown = f"{FILLER * 30}\n\nThe admission fee is told below.\n\n{beside}\n\n{FILLER * 30}"
    found = rank(markdown, "admission")
    assert {"Twelve" in found[0].text, "Twelve" in found[1].text} == {True, False}


def test_each_field_has_its_turn() -> None:
    warranties = [f"Warranty number {number} holds for {number} years." for number in range(20)]
    markdown = document(*warranties, "The hotline is 0123 456.")
    found = rank(markdown, "warranty", "phone")
    assert any("hotline" in each.text for each in found[:2])


def test_a_passage_with_figures_is_first_where_figures_are_wanted() -> None:
    markdown = document("The price is fair to all.", "The price is 12 euros now.")
    query = PassageQuery(fields=(QueriedField(name="price", sign=ValueSign.FIGURE),))
    assert "12 euros" in rank_passages(markdown, query, 1)[0].text


def test_what_says_the_same_again_comes_late() -> None:
    said = "Our price list, page {}: all prices are without tax and in euros for the whole of it."
    texts = [f"{said.format(number)} {FILLER * 8}" for number in range(6)]
    markdown = "\n\n".join([*(f"## P\n\n{text}" for text in texts), document("The price is 12.")])
    found = rank(markdown, "price")
    assert any("is 12" in each.text for each in found[:2])


def test_what_matches_nothing_comes_last_in_the_order_of_the_page() -> None:
    markdown = document(*(f"Word{number}." for number in range(4)), "The price is 12.")
    found = rank(markdown, "price")
    assert found[0].score == 1
    rest = [each for each in found if not each.score]
    assert rest == sorted(rest, key=lambda each: each.start)
    assert len(rest) >= 2


def test_no_question_and_no_text_are_no_error() -> None:
    assert rank("") == ()
    assert [each.score for each in rank("A text.")] == [0]


def test_a_fact_on_the_last_of_300_pages_is_ranked_first() -> None:
    markdown = book()
    assert len(markdown) > 900_000
    assert "37 months" in rank(markdown, "warrantyMonths")[0].text


def test_ranking_takes_time_in_proportion() -> None:
    def cpu_seconds(pages: int) -> float:
        markdown = book(pages)
        began = time.process_time()
        rank(markdown, "warranty", "price", "author", prompt="How long is the guarantee?")
        return time.process_time() - began

    cpu_seconds(20)
    assert cpu_seconds(320) < 16 * 4 * max(cpu_seconds(20), 0.005)


SCHEMA: dict[str, Json] = {
    "properties": {
        "address": {"properties": {"city": {"type": "string", "description": "where it is"}}},
        "contactEmail": {"type": "string"},
        "offers": {"type": "array", "items": {"properties": {"price": {"type": "number"}}}},
    }
}


def test_fields_are_asked_for_with_what_they_belong_to_and_what_tells_them() -> None:
    address, email, offers = read_schema(SCHEMA)[0].children
    query = build_passage_query("Which shop?", [address.children[0], email, offers])
    assert query == PassageQuery(
        prompt="Which shop?",
        fields=(
            QueriedField(name="address city", description="where it is"),
            QueriedField(name="contactEmail", sign=ValueSign.AT),
            QueriedField(name="offers"),
            QueriedField(name="offers price", sign=ValueSign.FIGURE),
        ),
    )


def test_an_aspect_has_the_fields_words_first_and_synonyms_for_less() -> None:
    (aspect,) = find_aspects(PassageQuery(fields=(QueriedField(name="price"),)))
    assert aspect.terms["pric"] == 1
    assert 0 < aspect.terms["cost"] < 1


def test_words_that_say_little_count_for_little() -> None:
    (aspect,) = find_aspects(PassageQuery(fields=(QueriedField(name="totalWeight"),)))
    assert aspect.terms["total"] < aspect.terms["weight"]


def test_a_question_without_words_has_no_aspects_and_a_long_one_not_too_many() -> None:
    assert find_aspects(PassageQuery(prompt="?!", fields=(QueriedField(name="--"),))) == []
    many = tuple(QueriedField(name=f"field{number}") for number in range(300))
    assert len(find_aspects(PassageQuery(prompt="x", fields=many))) == MAX_ASPECTS + 1
