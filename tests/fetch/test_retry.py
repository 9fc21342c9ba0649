from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cinder.fetch.retry import RetryPolicy, is_retryable, retry_after_seconds
from cinder.model.document import FetchedPage, Source

NOW = datetime(2025, 11, 15, 18, 30, tzinfo=UTC)


def page(status: int, **headers: str) -> FetchedPage:
    return FetchedPage(
        url="https://a.example/",
        final_url="https://a.example/",
        status_code=status,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        body=b"",
        source=Source.NATIVE,
        strategy="native",
    )


@pytest.mark.parametrize(
    ("status", "expected"), [(200, False), (404, False), (429, True), (500, True), (503, True)]
)
def test_only_answers_that_may_change_are_retried(status: int, expected: bool) -> None:
    assert is_retryable(page(status)) is expected


def test_waits_double_up_to_the_longest_and_end() -> None:
    policy = RetryPolicy(max_retries=4, first_wait_seconds=1, max_wait_seconds=3)
    assert [policy.wait_seconds(done) for done in range(5)] == [1, 2, 3, 3, None]


def test_the_server_decides_the_wait_within_our_patience() -> None:
    policy = RetryPolicy(max_retries=1, max_wait_seconds=20)
    assert policy.wait_seconds(0, 7) == 7
    assert policy.wait_seconds(0, 3600) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        ("Sat, 15 Nov 2025 18:31:00 GMT", 60),
        ("Sat, 15 Nov 2025 18:00:00 GMT", 0),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:00:00 +99999999999999", None),
        ("Thu, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("-5", None),
        ("", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str, seconds: float | None) -> None:
    assert retry_after_seconds(page(503, retry_after=value), NOW) == seconds


def test_an_answer_that_broke_off_is_retried() -> None:
    assert is_retryable(replace(page(200), is_cut=True))
