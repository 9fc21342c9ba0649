"""tests.verdicts.test_verdict"""

import os
from dataclasses import replace

import pytest

from cinder.models.document import Extraction, FetchedPage, FetchSource, Verdict, VerdictKind
from cinder.verdicts.evidence import PageEvidence
from cinder.verdicts.verdict import describe_status, find_truncation_signs, judge
from tests.verdicts.readings import STORY, reading

SHELL = b'<html><div id="root"></div><script src="/app.js"></script></html>'
WALL = b"<html><title>Just a moment...</title><script>window._cf_chl_opt={}</script></html>"


def page(
    status: int = 200, body: bytes = b"x", source: FetchSource = FetchSource.NATIVE
) -> FetchedPage:
    return FetchedPage(
        url="https://a.example/",
        final_url="https://a.example/",
        status_code=status,
        headers={},
        body=body,
        source=source,
        strategy="native",
    )


def test_a_page_with_words_is_ok() -> None:
    assert judge(page(), Extraction(word_count=1)) == Verdict()


@pytest.mark.parametrize("status", [304, 404, 503, 599])
def test_an_http_error_is_shown_by_its_status(status: int) -> None:
    verdict = judge(page(status), Extraction(word_count=9))
    assert (verdict.kind, verdict.evidence) == (VerdictKind.HTTP_ERROR, describe_status(status))


def test_a_page_without_words_is_empty() -> None:
    assert judge(page(), Extraction()).kind is VerdictKind.EMPTY


def test_a_file_is_judged_by_its_bytes() -> None:
    assert judge(page(), None).kind is VerdictKind.OK
    assert judge(page(body=b""), None).kind is VerdictKind.EMPTY


def test_a_bot_wall_is_blocked_whatever_its_status() -> None:
    sign = "the page is Cloudflare's bot wall ('_cf_chl_opt')"
    assert judge(page(200, WALL), Extraction()) == Verdict(VerdictKind.BLOCKED, sign)
    refused = judge(page(403, WALL), Extraction())
    assert refused == Verdict(VerdictKind.BLOCKED, f"403 Forbidden: {sign}")
    rendered = judge(page(503, WALL, FetchSource.BROWSER), Extraction(word_count=20))
    assert rendered.kind is VerdictKind.BLOCKED


def test_a_page_that_waits_for_its_scripts_is_a_shell() -> None:
    evidence = "the application's root 'root' is empty, and there are about 0 words"
    verdict = judge(page(body=SHELL), Extraction(word_count=3))
    assert verdict == Verdict(VerdictKind.JS_SHELL, evidence)


def test_a_rendered_page_is_a_shell_only_if_it_is_still_almost_empty() -> None:
    rendered = page(body=SHELL, source=FetchSource.BROWSER)
    assert judge(rendered, Extraction(word_count=2)).kind is VerdictKind.JS_SHELL
    assert judge(rendered, Extraction(word_count=30)) == Verdict()


@pytest.mark.parametrize("body", [SHELL, WALL])
def test_a_page_with_much_content_is_ok_whatever_else_is_on_it(body: bytes) -> None:
    assert judge(page(body=body), Extraction(word_count=2_000)) == Verdict()


@pytest.mark.parametrize(
    ("html", "kind"),
    [
        (
            "<title>Log in</title><form><input type=password><button>Go</button></form>",
            "login_wall",
        ),
        (
            "<p>We use cookies on this site, as others do.</p><button>Accept all</button>",
            "consent_only",
        ),
        (
            "<h1>Quay</h1><p>The quay wakes early, long before the town behind it does.</p>"
            "<p>Subscribe to continue reading</p>",
            "paywall",
        ),
        ("<title>Page not found</title><p>Sorry.</p>", "soft_404"),
        ("<html><body><div><p>The quay wakes <a href='", "partial"),
    ],
)
def test_each_kind_is_told_with_its_evidence(html: str, kind: str) -> None:
    body = html.encode()
    answer = replace(page(body=body), headers={"content-type": "text/html"})
    verdict = judge(answer, Extraction(text=html, word_count=9))
    assert verdict.kind == kind
    assert verdict.evidence


def test_a_shell_that_says_all_without_scripts_is_a_page() -> None:
    assert judge(page(body=SHELL), Extraction(word_count=300)) == Verdict()


def test_a_file_that_broke_off_is_partial() -> None:
    assert judge(replace(page(), is_cut=True), None).kind is VerdictKind.PARTIAL


def test_a_page_whose_text_was_not_taken_says_so() -> None:
    html = "<p>One two three four five six.</p>"
    answer = replace(page(body=html.encode()), headers={"content-type": "text/html"})
    evidence = "none of the page's about 6 words were taken for its content"
    assert judge(answer, Extraction(text=html)) == Verdict(VerdictKind.EMPTY, evidence)


@pytest.mark.parametrize("status", [200, 403])
@pytest.mark.parametrize(
    "body", [b"<" * 200_000, b"<h1 " * 50_000, b"read subscribe to " * 20_000, os.urandom(200_000)]
)
def test_hostile_bytes_are_judged_without_an_error(body: bytes, status: int) -> None:
    answer = replace(page(status, body), headers={"content-type": "text/html"})
    judge(answer, Extraction(text=body.decode("utf-8", "replace"), word_count=5))


START = f"<!doctype html><html><body><div><h1>The quay</h1><p>{STORY}"


@pytest.mark.parametrize(
    "html",
    [
        f"{START}</p><p>In the second <a href='/glo",
        f"{START}</p><script>let a = document.get",
        f"{START}</p><!-- to be",
        START,
        f"{START}</p><div role='status'>Loading more…</div></div></body></html>",
    ],
    ids=["tag", "script", "comment", "text", "loader"],
)
def test_a_page_that_breaks_off_is_told(html: str) -> None:
    assert find_truncation_signs(reading(html))


@pytest.mark.parametrize(
    "html",
    [
        f"{START}</p></div></body></html>\n<!-- made in 3 ms -->",
        "<!doctype html><title>Notes</title><p>Frugal markup<p>leaves its ends out",
        f"{START}</p></div><footer>",
        "",
    ],
    ids=["whole", "frugal", "unclosed", "empty"],
)
def test_a_whole_page_is_whole_however_it_is_written(html: str) -> None:
    assert find_truncation_signs(reading(html)) is None


@pytest.mark.parametrize(
    ("content_type", "whole", "cut"),
    [
        ("application/json", '{"a": [1, 2]}\n', '{"a": [1, '),
        ("application/rss+xml", "<rss><item/></rss>", "<rss><item/><ite"),
        ("text/plain", "anything goes", ""),
    ],
)
def test_data_is_whole_if_it_ends_as_it_must(content_type: str, whole: str, cut: str) -> None:
    page = replace(reading("").page, headers={"content-type": content_type})
    assert find_truncation_signs(PageEvidence(replace(page, body=whole.encode()))) is None
    assert bool(find_truncation_signs(PageEvidence(replace(page, body=cut.encode())))) is bool(cut)


def test_a_broken_connection_leaves_a_part() -> None:
    page = replace(reading("<p>Half").page, is_cut=True)
    assert find_truncation_signs(PageEvidence(page)) == "the answer broke off after 7 bytes"


def test_what_a_browser_has_read_is_whole() -> None:
    page = replace(reading(START).page, source=FetchSource.BROWSER)
    assert find_truncation_signs(PageEvidence(page)) is None
