"""Chromium's network errors, said in cinder's words."""

from cinder.errors import (
    CinderError,
    ConnectionFailed,
    EgressBlocked,
    ScrapeFailed,
    ScrapeTimeout,
)

_FAILURES: tuple[tuple[str, type[CinderError], str], ...] = (
    ("ERR_CERT_", ScrapeFailed, "The server's certificate could not be verified"),
    ("ERR_SSL_", ScrapeFailed, "No secure connection could be made: the TLS handshake failed"),
    ("ERR_BAD_SSL_", ScrapeFailed, "No secure connection could be made: the TLS handshake failed"),
    ("ERR_TOO_MANY_REDIRECTS", ScrapeFailed, "The page redirects without end"),
    ("ERR_UNSAFE_REDIRECT", EgressBlocked, "The page redirects out of the web"),
    ("ERR_UNKNOWN_URL_SCHEME", EgressBlocked, "The page redirects out of the web"),
    ("ERR_UNSAFE_PORT", EgressBlocked, "Browsers connect to no such port"),
    ("ERR_INVALID_", ScrapeFailed, "The server's answer is not valid HTTP"),
    ("ERR_RESPONSE_HEADERS_", ScrapeFailed, "The server's answer is not valid HTTP"),
    ("ERR_CONTENT_DECODING_FAILED", ScrapeFailed, "The server's answer could not be decompressed"),
    ("ERR_BLOCKED_BY_", ScrapeFailed, "The browser refused the page"),
    ("ERR_TIMED_OUT", ScrapeTimeout, "The server did not answer in time"),
    ("ERR_CONNECTION_TIMED_OUT", ScrapeTimeout, "The server did not answer in time"),
    ("ERR_CONNECTION_", ConnectionFailed, "The connection broke before the answer was whole"),
    ("ERR_EMPTY_RESPONSE", ConnectionFailed, "The connection broke before the answer was whole"),
    ("ERR_INCOMPLETE_", ConnectionFailed, "The connection broke before the answer was whole"),
    ("ERR_CONTENT_LENGTH_", ConnectionFailed, "The connection broke before the answer was whole"),
    ("ERR_HTTP2_", ConnectionFailed, "The connection broke before the answer was whole"),
    ("ERR_NETWORK_", ConnectionFailed, "The connection broke before the answer was whole"),
    ("ERR_SOCKET_", ConnectionFailed, "The connection could not be made"),
    ("ERR_PROXY_", ConnectionFailed, "The connection could not be made"),
    ("ERR_TUNNEL_", ConnectionFailed, "The connection could not be made"),
)


def describe_failure(error_text: str, url: str) -> CinderError:
    """Return the error that `net::ERR_…` stands for."""
    name = error_text.removeprefix("net::")
    for prefix, failure, sentence in _FAILURES:
        if name.startswith(prefix):
            return failure(f"{sentence} ({name})", url=url)
    return ScrapeFailed(f"The page could not be loaded ({name})", url=url)
