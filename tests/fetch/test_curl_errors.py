import pytest
from curl_cffi import CurlECode

from cinder.errors import CinderError, ConnectionFailed, ScrapeTimeout
from cinder.fetch.curl_errors import kind_of_failure


@pytest.mark.parametrize("code", [code for code in CurlECode if code is not CurlECode.OK])
def test_every_curl_code_has_a_sentence(code: CurlECode) -> None:
    failure, sentence = kind_of_failure(code)
    assert issubclass(failure, CinderError)
    assert sentence


def test_what_may_pass_is_told_from_what_will_not() -> None:
    assert kind_of_failure(CurlECode.GOT_NOTHING)[0] is ConnectionFailed
    assert kind_of_failure(CurlECode.OPERATION_TIMEDOUT)[0] is ScrapeTimeout
    certificate, _ = kind_of_failure(CurlECode.PEER_FAILED_VERIFICATION)
    assert not issubclass(certificate, ConnectionFailed)
