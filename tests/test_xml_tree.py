"""XML as a plain tree."""

import pytest

from cinder.xml_tree import MAX_DEPTH, UnreadableXml, parse_xml
from tests.site.plain import LAUGHS


def test_names_are_without_their_namespaces_and_text_is_whole() -> None:
    root = parse_xml('<a:R xmlns:a="urn:x"><b k="1">x &amp; <i>y</i></b>&nbsp;z</a:R>')
    assert root.name == "r"
    child = root.children[0]
    assert (child.attributes, child.text, child.inner_html) == (
        {"k": "1"},
        "x & y",
        "x &amp; <i>y</i>",
    )
    assert root.text == "x & y\xa0z"


@pytest.mark.parametrize(
    "text",
    [
        LAUGHS,
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>',
        "<a>" * (MAX_DEPTH + 1) + "</a>" * (MAX_DEPTH + 1),
        "<a><b></a>",
        "",
        "no xml",
    ],
)
def test_what_is_hostile_or_broken_is_refused(text: str) -> None:
    with pytest.raises(UnreadableXml):
        parse_xml(text)
