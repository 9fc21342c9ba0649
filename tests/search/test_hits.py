from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.models.document import Json
from cinder.search.hits import (
    MAX_HITS,
    FoundItem,
    number_at,
    read_timestamp,
    text_at,
    to_hits,
    value_at,
)

BASE = "https://a.example/find"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-05-01T12:00:00", datetime(2026, 5, 1, 12, tzinfo=UTC)),
        ("2026-05-01T12:00:00+02:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("2026-05-01T12:00:00.000Z", datetime(2026, 5, 1, 12, tzinfo=UTC)),
        ("Fri, 01 May 2026 12:00:00 GMT", datetime(2026, 5, 1, 12, tzinfo=UTC)),
        ("1777636800", datetime(2026, 5, 1, 12, tzinfo=UTC)),
        ("1777636800.0", datetime(2026, 5, 1, 12, tzinfo=UTC)),
        ("1777636800000", datetime(2026, 5, 1, 12, tzinfo=UTC)),
        ("0001-01-01T00:00:00+14:00", None),
        ("1066-10-14", None),
        ("3 days ago", None),
        ("2026", None),
        ("", None),
        ("9" * 100, None),
    ],
)
def test_dates_are_read_in_the_ways_that_engines_write_them(
    text: str, moment: datetime | None
) -> None:
    assert read_timestamp(text) == moment


@given(st.text(st.characters(exclude_categories=[])))
def test_no_text_is_too_strange(text: str) -> None:
    for are_html in (True, False):
        for hit in to_hits(
            [FoundItem(url=text, title=text, summary=text, date=text)] * 2, BASE, are_html=are_html
        ):
            assert hit.url.startswith(("http://", "https://"))
            assert hit.title.encode()
            assert hit.summary.encode() is not None


def test_markup_becomes_text_where_there_is_any() -> None:
    item = FoundItem(url="/a", title="1 &lt; <b>2</b>", summary="a\n <br>b\u0000")
    (html,) = to_hits([item], BASE, are_html=True)
    (text,) = to_hits([item], BASE, are_html=False)
    assert (html.url, html.title, html.summary) == ("https://a.example/a", "1 < 2", "a b")
    assert (text.title, text.summary) == ("1 &lt; <b>2</b>", "a <br>b")


def test_there_are_no_more_hits_and_no_longer_texts_than_the_limits_say() -> None:
    items = (
        FoundItem(url=f"/{number}", title="t" * 10_000, summary="<b>s</b> " * 10_000)
        for number in range(100_000)
    )
    hits = to_hits(items, BASE, are_html=True)
    assert len(hits) == MAX_HITS
    assert max(len(hit.title) for hit in hits) == 300
    assert max(len(hit.summary) for hit in hits) <= 2_000
    assert next(items).url == "/500"


VALUE: Json = {"a": [{"b": "x"}, {"b": 7}], "c": True, "d": 1.5, "e": None, "f": 10**400}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.0.b", "x"),
        ("a.1", {"b": 7}),
        ("a.2", None),
        ("a.b", None),
        ("a.-1", None),
        ("d.0", None),
        ("none.a", None),
    ],
)
def test_values_are_found_by_their_paths(path: str, found: Json) -> None:
    assert value_at(VALUE, path) == found
    assert value_at(VALUE, "") is VALUE


def test_only_texts_and_numbers_are_text() -> None:
    assert [text_at(VALUE, path) for path in ("a.0.b", "a.1.b", "d", "c", "e", "a", "z")] == [
        *("x", "7", "1.5"),
        *("", "", "", ""),
    ]


def test_only_numbers_of_a_common_size_are_numbers() -> None:
    assert [number_at(VALUE, path) for path in ("a.1.b", "d", "c", "f", "a.0.b", "z")] == [
        *(7, 1.5),
        *(None, None, None, None),
    ]
