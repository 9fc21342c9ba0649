"""Dates as pages write them."""

import pytest

from cinder.extract.metadata.dates import find_date, normalise_date, read_date


@pytest.mark.parametrize(
    ("written", "normalised"),
    [
        ("2025-11-15", "2025-11-15"),
        ("2025-11-15T18:30:00Z", "2025-11-15T18:30:00+00:00"),
        ("2025-11-15 18:30:00+0100", "2025-11-15T18:30:00+01:00"),
        ("Sat, 15 Nov 2025 18:30:00 GMT", "2025-11-15T18:30:00+00:00"),
        ("November 15, 2025", "2025-11-15"),
        (" 15 Nov 2025 ", "2025-11-15"),
        ("15.11.2025", "2025-11-15"),
        ("2025", "2025"),
        ("last week", "last week"),
        ("2025-13-45", "2025-13-45"),
    ],
)
def test_dates_become_iso_8601_where_they_can_be_read(written: str, normalised: str) -> None:
    assert normalise_date(written) == normalised


@pytest.mark.parametrize(
    "written",
    [
        "Posted on Saturday, November 15th, 2025 at 6 pm",
        "15 November 2025 | 4 min read",
        "Am 15. November 2025 um 18 Uhr",
        "Publié le 15 novembre 2025",
        "15 de noviembre de 2025",
        "15 ноября 2025",
        "15 listopada 2025",
        "15-Nov-2025",
        "2025 Nov 15",
        "2025年11月15日",
        "2025년 11월 15일",
        "2025/11/15 and then 2025/11/16",
        "11/15/2025",
        "15/11/2025",
        "15. 11. 2025",
    ],
)
def test_a_date_is_found_in_what_surrounds_it(written: str) -> None:
    assert find_date(written) == "2025-11-15"


@pytest.mark.parametrize(
    "written",
    ["", "November 2025", "03/04/2025", "31 June 2025", "15 Brumaire 2025", "call 2025-11-151"],
)
def test_what_is_no_date_or_could_be_two_is_not_found(written: str) -> None:
    assert find_date(written) is None


def test_only_dates_of_the_webs_time_are_read() -> None:
    assert read_date("2025-11-15T18:30:00Z") == "2025-11-15T18:30:00+00:00"
    assert read_date("1970-01-01") is None
    assert read_date("0001-01-01T00:00:00") is None
    assert read_date("last week") is None
