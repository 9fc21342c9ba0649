"""Answers to searches, cut to the room there is."""

from datetime import UTC, datetime

import pytest

from cinder.api.schemas.search import describe_search, share_room
from cinder.models.search import ProviderReport, SearchAnswer, SearchResult
from cinder.services.excerpt import json_chars


def result(number: int, **facts: object) -> SearchResult:
    values = {
        "id": f"id{number}",
        "title": f"Coals {number}",
        "url": f"https://a.example/{number}",
        "domain": "a.example",
        "summary": "coals " * 50,
        "relevance": 0.5,
    }
    return SearchResult(**(values | facts))  # type: ignore[arg-type]


def answer(count: int, **facts: object) -> SearchAnswer:
    values = {
        "query": "coals",
        "results": tuple(result(number) for number in range(count)),
        "has_more": False,
        "next_offset": None,
        "search_ms": 12,
        "providers": (ProviderReport(name="web", milliseconds=7, results=count),),
    }
    return SearchAnswer(**(values | facts))  # type: ignore[arg-type]


def test_an_answer_has_the_contracts_fields_and_no_nulls() -> None:
    published = datetime(2026, 11, 15, tzinfo=UTC)
    found = answer(0, results=(result(1, summary="Of coals.", published_at=published),))
    assert describe_search(found, 0, 10_000) == {
        "query": "coals",
        "results": [
            {
                "id": "id1",
                "title": "Coals 1",
                "url": "https://a.example/1",
                "domain": "a.example",
                "summary": "Of coals.",
                "relevance": 0.5,
                "publishedDate": "2026-11-15T00:00:00.000Z",
            }
        ],
        "hasMore": False,
        "searchTime": 12,
        "providers": [{"name": "web", "milliseconds": 7, "results": 0}],
    }


def test_summaries_are_shortened_before_results_are_left_out() -> None:
    shown = describe_search(answer(10), 0, 3_500)
    assert isinstance(shown["results"], list)
    assert len(shown["results"]) == 10
    assert json_chars(shown) <= 3_500
    assert shown["hasMore"] is False


@pytest.mark.parametrize("room", [300, 1_500, 2_000])
def test_what_does_not_fit_is_the_next_page(room: int) -> None:
    shown = describe_search(answer(10), 20, room)
    assert isinstance(shown["results"], list)
    assert 1 <= len(shown["results"]) < 10
    assert shown["hasMore"] is True
    assert shown["nextOffset"] == 20 + len(shown["results"])
    assert "go on at nextOffset" in str(shown["warning"])


def test_what_short_texts_leave_goes_to_long_ones() -> None:
    assert share_room([100, 10_000, 5_000], 6_100) == [100, 3_000, 3_000]
    assert share_room([100, 200], 1_000) == [100, 200]
    assert share_room([], 1_000) == []


def test_where_there_is_no_room_each_text_has_its_beginning() -> None:
    assert share_room([5_000, 5_000], 0) == [200, 200]
