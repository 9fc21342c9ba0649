import pytest

from cinder.egress import Marker, ProxyRefusal, RefusalCode
from cinder.errors import (
    ConnectionFailed,
    DnsFailed,
    EgressBlocked,
    Overloaded,
    ScrapeFailed,
    ScrapeTimeout,
)

REFUSAL = ProxyRefusal(RefusalCode.DNS_ERROR, "nø such\r\nhost, 100 %")


def written(marker: Marker) -> dict[str, str]:
    name, value = marker.write(REFUSAL)
    return {name.decode(): value.decode("ascii")}


def test_a_refusal_survives_the_header_in_any_case() -> None:
    marker = Marker()
    [(name, value)] = written(marker).items()
    assert "\r" not in value
    assert marker.read({name.lower(): value}) == REFUSAL
    assert marker.read({"Server": "x", name.upper(): value}) == REFUSAL


def test_a_header_without_this_process_secret_is_the_origins() -> None:
    marker = Marker()
    assert marker.read({}) is None
    assert marker.read(written(Marker())) is None
    assert marker.read({marker.name: ""}) is None
    assert marker.read({marker.name: "é DNS_ERROR x"}) is None


def test_the_secret_is_not_shown() -> None:
    marker = Marker()
    assert marker.secret not in repr(marker)


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
