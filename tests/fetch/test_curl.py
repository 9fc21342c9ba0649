import pytest
from curl_cffi import CurlECode

from cinder.errors import CinderError, ConnectionFailed, ScrapeTimeout
from cinder.fetch.curl import error_of_curl_code


@pytest.mark.parametrize("code", [code for code in CurlECode if code is not CurlECode.OK])
def test_every_curl_code_has_a_sentence(code: CurlECode) -> None:
    failure, sentence = error_of_curl_code(code)
    assert issubclass(failure, CinderError)
    assert sentence


def test_what_may_pass_is_told_from_what_will_not() -> None:
    assert error_of_curl_code(CurlECode.GOT_NOTHING)[0] is ConnectionFailed
    assert error_of_curl_code(CurlECode.OPERATION_TIMEDOUT)[0] is ScrapeTimeout
    certificate, _ = error_of_curl_code(CurlECode.PEER_FAILED_VERIFICATION)
    assert not issubclass(certificate, ConnectionFailed)
