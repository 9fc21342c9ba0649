"""tests.verdicts.test_phrases"""

from cinder.verdicts.phrases import Phrases

PHRASES = Phrases(("read", "les"), r"to read on", r"um weiterzulesen", r"unread stemless")


def test_the_last_phrase_is_found() -> None:
    found = PHRASES.find_last("pay to read on, oder zahlen, um weiterzulesen")
    assert found is not None
    assert found[0] == "um weiterzulesen"


def test_nothing_is_found_where_no_phrase_is_near_a_stem() -> None:
    assert PHRASES.find_last("i read and i read") is None
    assert PHRASES.find_last(f"um weiterzu{'-' * 500}") is None


def test_a_text_full_of_stems_is_searched_in_part() -> None:
    assert PHRASES.find_last("read " * 100_000) is None
