from cinder.models.extraction import RankedPassage
from cinder.services.extraction.field_searches import FreeSearch
from cinder.services.extraction.model_prompts import (
    Chunk,
    PromptLimit,
    estimate_tokens,
    pack_passages,
)


def passage(text: str, start: int = 0) -> RankedPassage:
    return RankedPassage(
        id=f"p{start}", heading="", text=text, start=start, end=start + len(text), score=1
    )


def test_tokens_are_counted_by_bytes() -> None:
    assert estimate_tokens("word " * 70) == 100
    assert estimate_tokens("茶" * 70) == 60


def test_passages_are_packed_as_far_as_they_fit_and_one_always_is() -> None:
    passages = [passage("x" * 350, start) for start in range(5)]
    assert pack_passages(passages, 250) == tuple(passages[:2])
    assert pack_passages(passages, 1) == (passages[0],)
    assert pack_passages([], 100) == ()


def test_of_several_passages_the_better_half_comes_first() -> None:
    passages = tuple(passage("text", start) for start in (30, 10, 20))
    first, second = Chunk(passages, ()).halve_text()
    assert (first.passages, second.passages) == (passages[:2], passages[2:])


def test_one_passage_is_halved_between_words_and_keeps_its_places() -> None:
    text = "word " * 100
    first, second = Chunk((passage(text, 7),), ()).halve_text()
    (one,), (other,) = first.passages, second.passages
    assert (one.start, one.end, other.end) == (7, other.start, 7 + len(text))
    assert one.text + other.text == text
    assert one.text.endswith(" ")


def test_what_is_short_and_asks_one_thing_has_no_halves() -> None:
    chunk = Chunk((passage("short"),), (FreeSearch(),))
    assert chunk.halve_text() == chunk.halve_searches() == ()
    two = Chunk((passage("short"),), (FreeSearch(), FreeSearch()))
    assert [len(each.searches) for each in two.halve_searches()] == [1, 1]


def test_what_a_model_refused_halves_the_next_and_what_it_read_raises_it_again() -> None:
    limit = PromptLimit()
    assert limit.room_for(6_000, 500) == 6_000
    limit.note_refused(4_000)
    assert limit.room_for(6_000, 500) == 1_500
    limit.note_read(3_000)
    assert limit.room_for(6_000, 500) == 2_500
    limit.note_read(5_000)
    assert limit.room_for(6_000, 500) == 3_499


def test_a_long_question_leaves_little_room_for_itself_alone() -> None:
    limit = PromptLimit()
    limit.note_refused(4_000)
    assert limit.room_for(6_000, 1_990) == 150
    assert limit.room_for(6_000, 200) == 1_800
