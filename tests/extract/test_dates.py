"""Dates as pages write them."""

import pytest

from cinder.extract.dates import normalise_date


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
