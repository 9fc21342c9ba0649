import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.extract.bombs import (
    MAX_ATTRIBUTES,
    MAX_DEPTH,
    MAX_ELEMENTS,
    MAX_INDENTED_DEPTH,
    find_bomb,
)

DEEP = MAX_DEPTH + 1


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * DEEP,
        "<ul><li>t" * DEEP,
        "<blockquote>t" * DEEP,
        "<b><p>x" * DEEP,
        "<font color=red>" * DEEP,
        "<svg>" + "<g>" * DEEP,
        "<DIV\nclass=x>" * DEEP,
        "<div/>" * DEEP,
        "<svg>" + "<g></g>" * DEEP + "</svg>" + "<g/>" * DEEP,
        "<ul><li>t" * (MAX_INDENTED_DEPTH + 1),
        "<OL><li>t" * (MAX_INDENTED_DEPTH + 1),
        "<dl><dd>t" * (MAX_INDENTED_DEPTH + 1),
        "<Menu><li>t" * (MAX_INDENTED_DEPTH + 1),
        "<BlockQuote>t" * (MAX_INDENTED_DEPTH + 1),
        "<div " + " ".join(f"a{n}=1" for n in range(MAX_ATTRIBUTES + 1)) + ">",
        "<div " + "/".join(f"a{n}" for n in range(MAX_ATTRIBUTES + 1)) + ">",
        "<div " + "".join(f'a{n}=">"' for n in range(MAX_ATTRIBUTES + 1)) + ">",
        "<div ' " + " ".join(f"a{n}" for n in range(MAX_ATTRIBUTES + 1)) + " '>",
        ("<div " + " ".join(f"a{n}=1" for n in range(1_000)) + ">") * 101,
        "<br>" * (MAX_ELEMENTS + 1),
        ("<div>" * 4_900 + "</div>" * 4_900) * 10,
        "<div>" * 4_000 + "</p>" * 100_000,
        "<select>" + "<option>x" * 10_000,
        "".join(f"<body a{n}=1>" for n in range(10_000)),
    ],
)
def test_a_bomb_is_found(html: str) -> None:
    assert find_bomb(html) is not None


@pytest.mark.parametrize(
    "html",
    [
        "<p>x" * 100_000,
        "<br>" * 100_000,
        "<div><span>x</span></div>" * 100_000,
        "<table>" + "<tr><td>x" * 50_000,
        "<a href=x>y" * 50_000,
        "<svg>" + "<g/>" * 100_000 + "</svg>",
        "<select>" + "<option>x</option>" * 5_000 + "</select>",
        "<blockquote>t</blockquote>" * 1_000,
        f'<div title="{"a b " * 100_000}">x</div>',
        f'<img src="data:image/png;base64,{"A" * 1_000_000}">',
        "<" * 1_000_000,
        "<p>" + "<" * 1_000_000 + "<div>x</div>" * 1_000,
        "<div" * 1_000,
        f"<p>{'x' * 3_000}<p>" * 10 + "x" * 3_000,
        "<script>" + "i < n; " * 50_000 + "</script>",
    ],
)
def test_a_page_that_is_only_large_is_none(html: str) -> None:
    assert find_bomb(html) is None


@given(st.text(alphabet="<>/ adiv="))
def test_any_text_can_be_looked_at(html: str) -> None:
    assert find_bomb(html) is None


def test_what_looks_like_a_tag_in_a_script_is_none() -> None:
    script = "<script>if (i <n " + "a b c d e f " * 3_000 + ") {}</script>"

    assert find_bomb(f"<p>text{script * 5}") is None
    assert find_bomb(f"<p>text{script}<p {'a b c d e f ' * 3_000}>") is not None
