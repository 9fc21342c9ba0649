import pytest

from cinder.extract.reading.sentences import find_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Ash glows. Does it? Yes!", ["Ash glows.", "Does it?", "Yes!"]),
        (
            "Dr. Ash met J. Oak at 3.5 p.m. on time. Then",
            ["Dr. Ash met J. Oak at 3.5 p.m. on time.", "Then"],
        ),
        ("See [a. B](http://x/y. Z) now. So.", ["See [a. B](http://x/y. Z) now.", "So."]),
        (
            "Er sagte \u201eja.\u201d Dann z. B. nein.",
            ["Er sagte \u201eja.\u201d", "Dann z. B. nein."],
        ),
        (
            "\u706b\u304c\u3064\u304f\u3002\u7070\u306b\u306a\u308b\uff01",
            ["\u706b\u304c\u3064\u304f\u3002", "\u7070\u306b\u306a\u308b\uff01"],
        ),
        (
            "\u0647\u0644 \u0647\u0630\u0627 \u0646\u0627\u0631\u061f \u0646\u0639\u0645.",
            ["\u0647\u0644 \u0647\u0630\u0627 \u0646\u0627\u0631\u061f", "\u0646\u0639\u0645."],
        ),
        ("  ", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in find_sentences(text, 0, len(text))] == sentences
