"""Cleaned HTML to markdown."""

import pytest

from cinder.extract.html_tree import parse_html
from cinder.extract.markdown.conversion import to_markdown, tree_to_markdown


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<h1>One</h1><p>two <b>three</b> <i>four</i></p>", "# One\n\ntwo **three** *four*"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
        ("<ol start=3><li>a<li>b</ol>", "3. a\n4. b"),
        (
            "<pre><code class=language-python>def f():\n    return `1`\n\n\n\n  # end</code></pre>",
            "```python\ndef f():\n    return `1`\n\n\n\n  # end\n```",
        ),
        ("<pre>a\n```\nb</pre>", "````\na\n```\nb\n````"),
        (
            "<table><thead><tr><th>a<th>b<tbody><tr><td>1|2<td>x<br>y</table>",
            "| a | b |\n| --- | --- |\n| 1\\|2 | x<br>y |",
        ),
        ('<a href="https://e.org/x y">t</a>', "[t](<https://e.org/x y>)"),
        ('<img src="https://e.org/a.png" alt="A">', "![A](https://e.org/a.png)"),
        ("<blockquote><p>q<p>r</blockquote>", "> q\n>\n> r"),
        ("<nav>kept</nav><form>too</form>", "kept\n\ntoo"),
        ("<p># not a heading</p>", "\\# not a heading"),
        ("<p>&nbsp;</p>", ""),
        ("", ""),
    ],
)
def test_html_becomes_markdown(html: str, markdown: str) -> None:
    assert to_markdown(html) == markdown


def test_markdown_is_the_same_every_time() -> None:
    html = "<h2>T</h2><table><tr><td>a</table><ul><li>x</ul>" * 20
    assert len({to_markdown(html) for _ in range(5)}) == 1


@pytest.mark.parametrize("tag", ["tbody", "tr"])
def test_a_part_of_a_table_is_read_as_the_table(tag: str) -> None:
    tree = parse_html("<table><tbody><tr><td>a<td>b<tr><td>c<td>d</table>")
    assert tree_to_markdown([tree.css(tag)[0]]) == "| a | b |\n| --- | --- |\n| c | d |"
