"""Text that must not be read as markdown."""

import pytest

from cinder.html.markdown.conversion import LiteralText


def _through(html: str) -> str:
    literal = LiteralText()
    return literal.unmask(literal.mask(html))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("*a* b", "\\*a\\* b"),
        ("a * b * c", "a * b * c"),
        ("_a_", "\\_a\\_"),
        ("a_b_c", "a_b_c"),
        ("`a`", "\\`a\\`"),
        ("one ` alone", "one ` alone"),
        ("~~a~~", "\\~\\~a\\~\\~"),
        ("[a](b) [c] [d][e]", "[a\\](b) [c] [d\\][e]"),
        ("&lt;b>", "\\<b>"),
        ("&lt; b", "&lt; b"),
        ("&lt;&lt;&lt;b>", "&lt;&lt;\\<b>"),
        ("&amp;lt;", "\\&lt;"),
        ("AT&amp;T", "AT&amp;T"),
        ("\\*", "\\\\\\*"),
        ("C:\\dir", "C:\\dir"),
        ("https://e.org/_a_*b*", "https://e.org/_a_*b*"),
        ("see http://e.org/_a_ and _b_", "see http://e.org/_a_ and \\_b\\_"),
        ("ftp://e.org/_a_", "ftp://e.org/\\_a\\_"),
        ("- *a* b", "\\- \\*a\\* b"),
        ("12. _a_", "12\\. \\_a\\_"),
        ("\\(x_1*y*z\\)", "$x_1*y*z$"),
    ],
)
def test_it_comes_back_escaped(text: str, escaped: str) -> None:
    assert _through(text) == escaped


@pytest.mark.parametrize(
    "html",
    [
        "<pre>*a* _b_\n  c</pre>",
        '<code class="x">*a* `b`</code>',
        "<kbd>*</kbd><samp>*</samp><tt>*</tt>",
        '<a href="https://e.org/*a*_b_" rel="<pre> *x*">t</a>',
    ],
)
def test_code_and_attributes_stay_as_they_are(html: str) -> None:
    assert _through(html) == html


def test_formulas_come_back_as_they_were() -> None:
    html = '<p><span class="math inline">a_1 &lt; *b*</span><span class="math display">x</span></p>'
    assert _through(html) == "<p>$a_1 < *b*$$$x$$</p>"


def test_masks_in_the_page_itself_do_nothing() -> None:
    assert _through("a\ufdd0b\ufde00\ufde1c") == "ab0c"


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ('<span class="math inline">x$ &lt;b&gt; [a](b)</span>', "$x\\$ < b> [a] (b)$"),
        ('<span data-literal="">[a](javascript:x)</span>', "[a\\](javascript:x)"),
        ('<span data-literal="">[^1]:</span>', "[^1]:"),
    ],
)
def test_what_is_held_back_cannot_carry_markdown(html: str, markdown: str) -> None:
    assert _through(html) == markdown
