import pytest

from cinder.extract.elements import Elements
from cinder.extract.html_tree import parse_html
from cinder.extract.metadata.limits import (
    MAX_JSON_LD_CHARS,
    MAX_JSON_LD_OBJECTS,
    MAX_JSON_LD_SCRIPTS,
    MAX_META_TAGS,
    MAX_VALUE_CHARS,
    find_cuts,
)
from cinder.extract.metadata.page_metadata import read_metadata


def script(json: str) -> str:
    return f'<script type="application/ld+json">{json}</script>'


def cuts_of(html: str) -> tuple[str, ...]:
    elements = Elements.of_page(parse_html(html))
    return find_cuts(html, elements, read_metadata(elements, None))


@pytest.mark.parametrize(
    ("html", "word"),
    [
        ("<meta name=a content=b>" * (MAX_META_TAGS + 1), "meta tags"),
        (script('{"a":1}') * (MAX_JSON_LD_SCRIPTS + 1), "JSON-LD"),
        (script('{"a":"' + "b" * MAX_JSON_LD_CHARS + '"}'), "JSON-LD"),
        (script("[" + "{}," * MAX_JSON_LD_OBJECTS + "{}]"), "JSON-LD"),
        ("<title>" + "b" * (MAX_VALUE_CHARS + 1) + "</title>", "characters was cut"),
    ],
)
def test_metadata_that_a_limit_leaves_out_is_told_of(html: str, word: str) -> None:
    (cut,) = cuts_of(html)
    assert word in cut


@pytest.mark.parametrize(
    "html",
    [
        "<title>t</title>",
        "<meta name=a content=b>" * MAX_META_TAGS,
        script('{"a":1}') * MAX_JSON_LD_SCRIPTS,
        script("{}") + "x" * MAX_JSON_LD_CHARS,
        "<script>" + '"application/ld+json"' * 100 + "</script>",
    ],
)
def test_metadata_within_the_limits_is_not(html: str) -> None:
    assert cuts_of(html) == ()
