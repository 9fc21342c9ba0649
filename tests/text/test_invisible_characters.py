"""Characters that show nothing."""

import time

import pytest

from cinder.documents.page_content import extract_content
from cinder.models.request import ExtractOptions
from cinder.text.invisible_characters import character_warnings, without_invisible_characters

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "obey me")
BYTES_AS_SELECTORS = "".join(chr(0xE0100 + number) for number in b"obey me")
BITS = "".join("\u200b" if bit == "0" else "\u200c" for bit in f"{ord('o'):08b}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"Ember{TAGS} care", "7 tag characters"),
        (f"🏴{TAGS}\U000e007f", "8 tag characters"),
        ("invoice\u202efdp.exe", "1 bidi overrides"),
        ("\u202dabc\u202c", "1 bidi overrides"),
        ("if admin:\u2067 return \u2069", "1 bidi overrides"),
        (f"Ember{BITS} care", "8 zero-width characters in runs"),
        ("a\u200b\u200b\u200b\u200b\u200b\u200b\u200b\u200bb", "8 zero-width characters in runs"),
        ("i\u200bg\u200bn\u200bo\u200bre", "4 zero-width characters in runs"),
        (f"😀{BYTES_AS_SELECTORS}", "7 variation selectors without use"),
        ("a\ufe01b\ufe02c", "2 variation selectors without use"),
        ("x\U000e0101", "1 variation selectors without use"),
        ("Ember" + "\U0001d173\U0001d174" * 4, "8 zero-width characters in runs"),
        ("Ember" + "\u17b4\u17b5" * 4, "8 zero-width characters in runs"),
        ("Ember" + "\U0001bca0\U0001bca3" * 4, "8 zero-width characters in runs"),
        ("Ember" + "\u034f" * 40, "40 zero-width characters in runs"),
        ("Ember" + "\u115f\u1160\u3164\uffa0" * 4, "16 zero-width characters in runs"),
        ("Ember" + "\u206a\u206f\u00ad\u061c", "4 zero-width characters in runs"),
        ("o\u034fb\u034fe\u034fy\u034f", "4 zero-width characters in runs"),
        ("Ember" + "\u2800\u2009" * 4, "8 blanks of several kinds in runs"),
        ("Ember" + "\u2009\u200a" * 40, "80 blanks of several kinds in runs"),
        ("Ember" + "\u3000\u2003" * 4, "8 blanks of several kinds in runs"),
    ],
)
def test_a_trick_is_told_with_its_count(text: str, told: str) -> None:
    (warning,) = character_warnings(text)
    assert f": {told}. " in warning


def test_all_tricks_of_a_page_are_told_in_one_sentence() -> None:
    (warning,) = character_warnings(f"{TAGS}\u202e{BITS}")
    assert "7 tag characters, 1 bidi overrides, 8 zero-width characters in runs" in warning, warning


@pytest.mark.parametrize(
    "text",
    [
        "Plain ASCII",
        "naïve “text” 漢字",
        "👩🏽\u200d🚀 👨\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈 ❤\ufe0f",
        "1\ufe0f\u20e3 ☎\ufe0e ❤\ufe0f\ufe0f",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "\u0645\u06cc\u200c\u062e\u0648\u0647\u0645 \u0646\u0645\u06cc\u200c\u0634\u0648\u062f",
        "क्\u200dष ශ්\u200dරී",
        "\u200f\u05e9\u05dc\u05d5\u05dd\u200e (Hello)\u200f",
        "\u202b\u0645\u0631\u062d\u0628\u0627\u202c \u2067\u05e9\u05dc\u05d5\u05dd\u2069 \u061c",
        "Welcome to \u2068Firefox\u2069",
        "Call \u202d+1 (555) 010-0000\u202c",
        "Donau\u00addampf\u00adschiff\u00adfahrt",
        "get\u200bElement\u200bBy\u200bId https://a/\u200bb/\u200bc",
        "\ufeffWith a byte order mark\u200b\u200b",
        "&zwnj; \u200c\u00a0\u200c\u00a0\u200c\u00a0\u200c\u00a0\u200c",
        "葛\U000e0100城市 辻\U000e0101",
        "ភាសា\u200bខ្មែរ\u200bគឺ\u200bជា",
        "ក\u17b4 ខ\u17b5 ម\u17b4",
        "ᠮᠣᠩᠭᠣᠯ\u180e\u1820 ᠪᠢᠴᠢᠭ\u180b",
        "\u1100\u1160\u11a8 \u115f\u1161 \u3164",
        "\u05d9\u05b0\u034f\u05b7 a\u034fb",
        "⠀⠀⠀⠀⠀⠀⠀⠀⠀⣠⣤⣤⣄⠀⠀⠀⠀⠀⠀⠀⠀⠀\n⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀",
        "\u3000\u3000\u3000\u3000\u3000\u3000\u3000\u3000\u3000段落",
        "10\u202f%\u2009: 5\u200a-\u200a6\u2003\u2003 M.\u2009X",
        "&shy; \u034f \u00ad\u034f \u00ad\u034f \u00ad",
        "𝅗𝅥\U0001d173𝅘𝅥𝅮\U0001d174",
    ],
)
def test_ordinary_text_is_not_flagged(text: str) -> None:
    assert character_warnings(text) == ()


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html", "<title>x</title><p>Ember &#x202E;care</p>"),
        ("text/html", "<title>Ember \u202e</title><p>care</p>"),
        ("text/html", "<p>Ember <b>\u202e</b>care</p>"),
        ("text/plain", "Ember \u202ecare"),
        ("application/json", r'{"ember": "\u202ecare"}'),
        ("text/html", f"{'<div>' * 60_000}Ember \u202ecare"),
    ],
)
def test_pages_of_every_kind_are_looked_through(content_type: str, body: str) -> None:
    made = extract_content(
        body.encode(),
        content_type=f"{content_type}; charset=utf-8",
        url="https://example.com/",
        options=ExtractOptions(),
    )
    assert any("1 bidi overrides" in warning for warning in made.warnings), made.warnings


def test_a_script_with_such_characters_is_no_trick() -> None:
    page = "<p>Ember</p><script>var marks = '\u202e\u202d'</script><style>a::after{}</style>"
    made = extract_content(
        page.encode(),
        content_type="text/html; charset=utf-8",
        url="https://example.com/",
        options=ExtractOptions(),
    )
    assert made.warnings == ()


@pytest.mark.parametrize(
    "part",
    [
        "\u200b",
        "a\u200b",
        "\u202d1",
        "🏴\U000e0061",
        "a\ufe01",
        "\u2067",
        "\u2009",
        "\u2800a\u200a",
    ],
)
def test_time_grows_with_the_text_and_no_faster(part: str) -> None:
    def seconds(length: int) -> float:
        text = part * length
        began = time.process_time()
        character_warnings(text)
        return time.process_time() - began

    short = min(seconds(50_000) for _ in range(3))
    assert min(seconds(400_000) for _ in range(3)) < 8 * 5 * max(short, 0.002)


def test_the_title_is_told_once_and_without_them() -> None:
    page = f"<title>Ember{TAGS} care</title><h1>Ember{TAGS} care</h1><p>Rake the ash.</p>"
    made = extract_content(
        page.encode(),
        content_type="text/html; charset=utf-8",
        url="https://example.com/",
        options=ExtractOptions(),
    )
    assert made.metadata.title == "Ember care"
    assert [": 7 tag characters. " in warning for warning in made.warnings] == [True]


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
