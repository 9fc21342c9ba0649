"""tests.models.test_http"""

import pytest

from cinder.models.http import check_headers


def test_ordinary_headers_may_be_sent() -> None:
    assert check_headers({"User-Agent": "MyBot/1.0", "Cookie": "session=abc123", "X-A": ""}) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "b\r\nX-Injected: 1"),
        ("X-A", "b\nc"),
        ("X-A", "snow☃"),
        ("X A", "1"),
        ("", "1"),
        ("Host", "169.254.169.254"),
        ("transfer-encoding", "chunked"),
        ("Connection", "close"),
        ("Content-Length", "999"),
        ("If-None-Match", "*"),
        ("Authorization", "NTLM TlRMTVNTUAABAAAA"),
        ("authorization", "negotiate YII="),
        ("X-Long", "a" * 20_000),
    ],
)
def test_headers_that_change_the_message_are_refused(name: str, value: str) -> None:
    assert [problem.field for problem in check_headers({name: value})] == [f"headers.{name}"]


def test_too_many_headers_are_refused() -> None:
    problems = check_headers({f"X-{n}": "1" for n in range(300)})
    assert [problem.field for problem in problems] == ["headers"]
