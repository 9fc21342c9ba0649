import socket

import pytest

from cinder.errors import CinderError, ConnectionFailed, EgressBlocked, ScrapeFailed, ScrapeTimeout
from cinder.fetch.browser.net_errors import describe_failure
from tests.fetch.browser.conftest import Visitor, in_browser

URL = "https://site.test/"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("net::ERR_CERT_AUTHORITY_INVALID", ScrapeFailed),
        ("net::ERR_CERT_DATE_INVALID", ScrapeFailed),
        ("net::ERR_SSL_PROTOCOL_ERROR", ScrapeFailed),
        ("net::ERR_BAD_SSL_CLIENT_AUTH_CERT", ScrapeFailed),
        ("net::ERR_TOO_MANY_REDIRECTS", ScrapeFailed),
        ("net::ERR_UNSAFE_REDIRECT", EgressBlocked),
        ("net::ERR_UNSAFE_PORT", EgressBlocked),
        ("net::ERR_INVALID_HTTP_RESPONSE", ScrapeFailed),
        ("net::ERR_CONTENT_DECODING_FAILED", ScrapeFailed),
        ("net::ERR_BLOCKED_BY_CLIENT", ScrapeFailed),
        ("net::ERR_TIMED_OUT", ScrapeTimeout),
        ("net::ERR_CONNECTION_TIMED_OUT", ScrapeTimeout),
        ("net::ERR_CONNECTION_RESET", ConnectionFailed),
        ("net::ERR_CONNECTION_REFUSED", ConnectionFailed),
        ("net::ERR_EMPTY_RESPONSE", ConnectionFailed),
        ("net::ERR_INCOMPLETE_CHUNKED_ENCODING", ConnectionFailed),
        ("net::ERR_CONTENT_LENGTH_MISMATCH", ConnectionFailed),
        ("net::ERR_HTTP2_PROTOCOL_ERROR", ConnectionFailed),
        ("net::ERR_NETWORK_CHANGED", ConnectionFailed),
        ("net::ERR_SOCKET_NOT_CONNECTED", ConnectionFailed),
        ("net::ERR_PROXY_CONNECTION_FAILED", ConnectionFailed),
        ("net::ERR_TUNNEL_CONNECTION_FAILED", ConnectionFailed),
        ("net::ERR_NEVER_HEARD_OF", ScrapeFailed),
    ],
)
def test_every_network_error_has_a_kind_and_is_named(error: str, kind: type[CinderError]) -> None:
    failure = describe_failure(error, URL)
    assert (type(failure), failure.url) == (kind, URL)
    assert failure.message.endswith(f"({error.removeprefix('net::')})")


@in_browser
async def test_a_redirect_without_end_fails(visitor: Visitor) -> None:
    with pytest.raises(ScrapeFailed) as caught:
        await visitor.visit("/redirect-loop")
    assert caught.value.message == "The page redirects without end (ERR_TOO_MANY_REDIRECTS)"


@in_browser
async def test_a_host_that_nobody_answers_at_is_a_failed_connection(visitor: Visitor) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(ConnectionFailed):
        await visitor.visit(f"http://127.0.0.1:{port}/")


@in_browser
@pytest.mark.parametrize("url", ["http://10.1.2.3/", "https://10.1.2.3/"])
async def test_an_address_that_is_refused_says_so(visitor: Visitor, url: str) -> None:
    with pytest.raises(EgressBlocked):
        await visitor.visit(url)


@in_browser
@pytest.mark.parametrize(
    "location",
    [
        "javascript:alert(1)",
        "view-source:http://127.0.0.1/",
        "file:///etc/passwd",
        "data:text/html,x",
        "mailto:a@b",
        "chrome://crash",
        "about:blank",
    ],
)
async def test_a_redirect_out_of_the_web_is_refused_as_such(
    visitor: Visitor, location: str
) -> None:
    with pytest.raises(EgressBlocked):
        await visitor.visit(f"/redirect?to={location}")


@in_browser
async def test_a_port_that_no_browser_opens_is_refused_as_such(visitor: Visitor) -> None:
    with pytest.raises(EgressBlocked):
        await visitor.visit("http://127.0.0.1:25/")
