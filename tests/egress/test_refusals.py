"""tests.egress.test_refusals"""

import pytest

from cinder.egress import ProxyRefusal, RefusalCode
from cinder.errors import (
    ConnectionFailed,
    DnsFailed,
    EgressBlocked,
    Overloaded,
    ScrapeFailed,
    ScrapeTimeout,
)


@pytest.mark.parametrize("code", RefusalCode)
def test_every_code_has_a_status_that_no_gateway_uses(code: RefusalCode) -> None:
    status = ProxyRefusal(code, "x").status
    assert 400 <= status < 600
    assert status != 502


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (RefusalCode.EGRESS_BLOCKED, EgressBlocked),
        (RefusalCode.DNS_ERROR, DnsFailed),
        (RefusalCode.CONNECT_TIMEOUT, ScrapeTimeout),
        (RefusalCode.IDLE_TIMEOUT, ScrapeTimeout),
        (RefusalCode.CONNECT_FAILED, ConnectionFailed),
        (RefusalCode.CONNECTION_LOST, ConnectionFailed),
        (RefusalCode.BAD_RESPONSE, ScrapeFailed),
        (RefusalCode.OVERLOADED, Overloaded),
    ],
)
def test_a_refusal_becomes_the_error_for_its_url(code: RefusalCode, error: type) -> None:
    raised = ProxyRefusal(code, "why").to_error("http://h/")
    assert type(raised) is error
    assert (raised.message, raised.url) == ("why", "http://h/")


@pytest.mark.parametrize("code", RefusalCode)
def test_every_refusal_can_be_told_without_an_address(code: RefusalCode) -> None:
    refusal = ProxyRefusal(code, "inner.example:8080 is down", "Connection refused")
    raised = refusal.to_error_without_address()
    assert type(raised) is type(refusal.to_error("http://h/"))
    assert raised.message.endswith(": Connection refused")
    assert "inner.example" not in raised.message
    assert raised.url is None
