"""What a PDF says about itself."""

import pytest

from cinder.extract.pdf.info import normalise_pdf_date


@pytest.mark.parametrize(
    ("said", "date"),
    [
        ("D:20251115183000+01'00'", "2025-11-15T18:30:00+01:00"),
        ("D:20251115183000-05", "2025-11-15T18:30:00-05:00"),
        ("D:20251115183000Z", "2025-11-15T18:30:00+00:00"),
        ("20251115183000", "2025-11-15T18:30:00"),
        ("D:202511", "2025-11"),
        ("D:2025", "2025"),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates_are_as_exact_as_they_are_given(said: str, date: str | None) -> None:
    assert normalise_pdf_date(said) == date
