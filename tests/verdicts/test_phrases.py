"""tests.verdicts.test_phrases"""

import re

from cinder.verdicts.evidence import AnyPhrase, find_last_phrase, load_phrases

STEMS = ("read", "les")
PATTERN = re.compile("to read on|um weiterzulesen|unread stemless")


def test_the_last_phrase_is_found() -> None:
    found = find_last_phrase("pay to read on, oder zahlen, um weiterzulesen", STEMS, PATTERN)
    assert found is not None
    assert found[0] == "um weiterzulesen"


def test_nothing_is_found_where_no_phrase_is_near_a_stem() -> None:
    assert find_last_phrase("i read and i read", STEMS, PATTERN) is None
    assert find_last_phrase(f"um weiterzu{'-' * 500}", STEMS, PATTERN) is None


def test_a_text_full_of_stems_is_searched_in_part() -> None:
    assert find_last_phrase("read " * 100_000, STEMS, PATTERN) is None


def test_every_list_of_phrases_is_a_pattern_without_open_fragments() -> None:
    for section, lists in load_phrases().items():
        names = [name for name, phrases in lists.items() if isinstance(phrases, list)]
        for name in names if section != "js_shell" else ():
            assert "{thing}" not in AnyPhrase(section, name).pattern
            assert AnyPhrase(section, name).search("") is None
            assert all(phrase == phrase.lower() for phrase in lists[name] if "\\" not in phrase)
