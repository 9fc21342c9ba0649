"""tests.verdicts.test_partial"""

from dataclasses import replace

import pytest

from cinder.models.document import FetchSource
from cinder.verdicts.evidence import PageEvidence
from cinder.verdicts.partial import find_truncation_signs
from tests.verdicts.readings import STORY, reading

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
