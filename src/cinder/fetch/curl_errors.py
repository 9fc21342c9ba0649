"""Curl's error codes, said in cinder's words. Codes, not exception classes: those are coarser."""

from curl_cffi import CurlECode

from cinder.errors import CinderError, ConnectionFailed, ScrapeFailed, ScrapeTimeout

Failure = tuple[type[CinderError], str]

_TIMED_OUT: Failure = (ScrapeTimeout, "The server did not answer in time")
_NO_CONNECTION: Failure = (ConnectionFailed, "The connection could not be made")
_BROKEN_OFF: Failure = (ConnectionFailed, "The connection broke before the answer was whole")
_BAD_TLS: Failure = (ScrapeFailed, "No secure connection could be made: the TLS handshake failed")
_BAD_CERTIFICATE: Failure = (ScrapeFailed, "The server's certificate could not be verified")
_BAD_ANSWER: Failure = (ScrapeFailed, "The server's answer is not valid HTTP")
_BAD_ENCODING: Failure = (ScrapeFailed, "The server's answer could not be decompressed")
_OTHER: Failure = (ScrapeFailed, "The page could not be fetched")

_FAILURES: dict[CurlECode, Failure] = {
    CurlECode.OPERATION_TIMEDOUT: _TIMED_OUT,
    CurlECode.COULDNT_RESOLVE_PROXY: _NO_CONNECTION,
    CurlECode.COULDNT_RESOLVE_HOST: _NO_CONNECTION,
    CurlECode.COULDNT_CONNECT: _NO_CONNECTION,
    CurlECode.NO_CONNECTION_AVAILABLE: _NO_CONNECTION,
    CurlECode.PROXY: _NO_CONNECTION,
    CurlECode.QUIC_CONNECT_ERROR: _NO_CONNECTION,
    CurlECode.GOT_NOTHING: _BROKEN_OFF,
    CurlECode.HTTP2: _BROKEN_OFF,
    CurlECode.HTTP2_STREAM: _BROKEN_OFF,
    CurlECode.HTTP3: _BROKEN_OFF,
    CurlECode.PARTIAL_FILE: _BROKEN_OFF,
    CurlECode.RECV_ERROR: _BROKEN_OFF,
    CurlECode.SEND_ERROR: _BROKEN_OFF,
    CurlECode.ECH_REQUIRED: _BAD_TLS,
    CurlECode.SSL_CIPHER: _BAD_TLS,
    CurlECode.SSL_CONNECT_ERROR: _BAD_TLS,
    CurlECode.SSL_SHUTDOWN_FAILED: _BAD_TLS,
    CurlECode.USE_SSL_FAILED: _BAD_TLS,
    CurlECode.PEER_FAILED_VERIFICATION: _BAD_CERTIFICATE,
    CurlECode.SSL_CACERT_BADFILE: _BAD_CERTIFICATE,
    CurlECode.SSL_INVALIDCERTSTATUS: _BAD_CERTIFICATE,
    CurlECode.SSL_ISSUER_ERROR: _BAD_CERTIFICATE,
    CurlECode.SSL_PINNEDPUBKEYNOTMATCH: _BAD_CERTIFICATE,
    CurlECode.TOO_LARGE: _BAD_ANSWER,
    CurlECode.WEIRD_SERVER_REPLY: _BAD_ANSWER,
    CurlECode.UNSUPPORTED_PROTOCOL: _BAD_ANSWER,
    CurlECode.BAD_CONTENT_ENCODING: _BAD_ENCODING,
    # Of bytes that follow the end of what was packed; a body that is full is told before.
    CurlECode.WRITE_ERROR: _BAD_ENCODING,
}


def kind_of_failure(code: CurlECode) -> Failure:
    """Return the error that a curl code stands for, and a sentence that says it."""
    return _FAILURES.get(code, _OTHER)
