import pytest

from cinder.fetch.verdict import describe_status, judge
from cinder.model.document import Extraction, FetchedPage, Source, Verdict, VerdictKind


def page(status: int = 200, body: bytes = b"x") -> FetchedPage:
    return FetchedPage(
        url="https://a.example/",
        final_url="https://a.example/",
        status_code=status,
        headers={},
        body=body,
        source=Source.NATIVE,
        strategy="native",
    )


def test_a_page_with_words_is_ok() -> None:
    assert judge(page(), Extraction(word_count=1)) == Verdict()


@pytest.mark.parametrize("status", [304, 404, 503, 999])
def test_an_http_error_is_shown_by_its_status(status: int) -> None:
    verdict = judge(page(status), Extraction(word_count=9))
    assert (verdict.kind, verdict.evidence) == (VerdictKind.HTTP_ERROR, describe_status(status))


def test_a_page_without_words_is_empty() -> None:
    assert judge(page(), Extraction()).kind is VerdictKind.EMPTY


def test_a_file_is_judged_by_its_bytes() -> None:
    assert judge(page(), None).kind is VerdictKind.OK
    assert judge(page(body=b""), None).kind is VerdictKind.EMPTY
