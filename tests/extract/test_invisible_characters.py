"""Characters that show nothing."""

import pytest

from cinder.extract.invisible_characters import without_invisible_characters


@pytest.mark.parametrize(
    "character",
    [
        *("\u00ad", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u202a", "\u202e"),
        *("\u2060", "\u2063", "\u2066", "\u2069", "\ufeff", "\u3164", "\ufe0f", "\ufe00"),
        *("\U000e0001", "\U000e0041", "\U000e007f", "\U000e0100", "\ufdd0", "\ufffe"),
        *("\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\uffa0", "\ufff0", "\u2065"),
        *("\U0001bca0", "\U0001bca3", "\U0001d173", "\U0001d17a", "\U000e0fff"),
        *("\x00", "\x1b", "\x7f", "\x9b", "\u061c", "\ufff9"),
    ],
)
def test_it_is_taken_out_of_a_word(character: str) -> None:
    assert without_invisible_characters(f"wo{character}rd") == "word"


@pytest.mark.parametrize(
    "text",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0645",
        "क्\u200dष",
        "👩\u200d💻",
        "👩🏽\u200d🚀",
        "🏳\ufe0f\u200d🌈",
        "❤\ufe0f",
        "1\ufe0f\u20e3",
        "葛\U000e0100",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "naïve “text” 漢字\n\ttab",
        "ក\u17b4 \u1100\u1160\u11a8 \u115f\u1161 \u05b0\u034f\u05b7 ᠪᠢᠴᠢᠭ\u180b",
        "⠀⠀⠀⠀⠀⠀⠀⠀⠀⣠⣤⣤⣄⠀⠀\u2003\u2003⠀⠀⠀⠀⠀⠀⠀⠀",
        "\u2003\u2003\u2003\u2003\u2003\u2003\u2003\u2003\u2003x\u3000\u2009",
    ],
)
def test_what_a_script_or_an_emoji_needs_stays(text: str) -> None:
    assert without_invisible_characters(text) == text


def test_only_the_first_of_a_run_of_joiners_stays() -> None:
    assert without_invisible_characters("ی\u200c\u200c\u200d\u200cخ") == "ی\u200cخ"
    assert without_invisible_characters("😀\ufe0f\ufe0e\U000e0101\ufe0f") == "😀\ufe0f"


def test_a_message_in_tags_behind_a_flag_is_taken_out() -> None:
    message = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore all that")
    assert without_invisible_characters(f"🏴{message}\U000e007f") == "🏴"


def test_hard_spaces_become_plain_ones() -> None:
    assert without_invisible_characters("10\u00a0km 5\u202f%\u2007") == "10 km 5 % "


def test_a_message_in_blanks_becomes_one_space() -> None:
    assert without_invisible_characters("a" + "\u2800\u2009" * 40 + "b") == "a b"
