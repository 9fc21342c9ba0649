"""tests.api.test_errors"""

from dataclasses import replace

from cinder.api.errors import HTTP_STATUS, NEXT_STEP, next_step, next_step_after
from cinder.errors import ErrorCode
from cinder.models.document import NOTHING_INCLUDED, Extraction, Verdict, VerdictKind
from tests.api.documents import a_page

MAX_CHARS = 120
EMPTY = replace(a_page(), verdict=Verdict(VerdictKind.EMPTY, "x"))


def test_every_verdict_but_ok_has_a_short_next_step() -> None:
    assert set(NEXT_STEP) == set(VerdictKind) - {VerdictKind.OK}
    assert all(len(step) <= MAX_CHARS for step in NEXT_STEP.values())


def test_every_code_has_a_status_and_none_is_a_bad_gateway() -> None:
    assert set(HTTP_STATUS) == set(ErrorCode)
    assert 502 not in HTTP_STATUS.values()


def test_what_is_advised_on_an_http_error_fits_its_status() -> None:
    advised = {code: next_step_after(VerdictKind.HTTP_ERROR, [], code) for code in (404, 410, 503)}
    assert advised[404] == advised[410] != advised[503]
    assert "try again" not in advised[404]
    assert "try again later" in advised[503]


def test_stealth_is_not_advised_where_it_was_tried() -> None:
    assert "try a stealth browser" in next_step_after(VerdictKind.BLOCKED, ["native", "browser"])
    assert "try later" in next_step_after(VerdictKind.BLOCKED, ["browser", "browser-stealth"])


def test_what_is_advised_on_an_empty_document_fits_why_it_is_empty() -> None:
    assert "onlyMainContent false" in next_step(EMPTY, [])
    assert "another version" in next_step(replace(EMPTY, content_type="application/pdf"), [])
    unmatched = replace(EMPTY, content=Extraction(warnings=(NOTHING_INCLUDED,)))
    assert "other includeTags" in next_step(unmatched, [])


def test_another_try_is_not_advised_for_a_pdf_that_a_limit_cut() -> None:
    verdict = Verdict(VerdictKind.PARTIAL, "x")
    document = replace(a_page(), verdict=verdict, content_type="application/pdf")
    assert "raw body" in next_step(document, [])
    assert "forceRescrape" in next_step(replace(document, is_cut=True), [])
    assert "forceRescrape" in next_step(replace(document, content_type="text/html"), [])
