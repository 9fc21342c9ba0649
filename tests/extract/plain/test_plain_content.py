"""Text that is not HTML."""

import pytest

from cinder.extract.content_kind import JSON, PROSE, XML, ContentKind
from cinder.extract.plain.plain_content import plain_to_html, plain_to_markdown


@pytest.mark.parametrize(
    ("text", "kind", "markdown"),
    [
        ("# Title\n\ntext\n", PROSE, "# Title\n\ntext"),
        ('{"ä":[1,2]}', JSON, '```json\n{\n  "ä": [\n    1,\n    2\n  ]\n}\n```'),
        ('{"a":', JSON, '```json\n{"a":\n```'),
        ("[" * 100_000, JSON, "```json\n" + "[" * 100_000 + "\n```"),
        ("<rss>```</rss>\n", XML, "````xml\n<rss>```</rss>\n````"),
    ],
)
def test_text_becomes_markdown(text: str, kind: ContentKind, markdown: str) -> None:
    assert plain_to_markdown(text, kind) == markdown


def test_text_becomes_preformatted_html() -> None:
    assert plain_to_html("a < b & c") == "<pre>a &lt; b &amp; c</pre>"
