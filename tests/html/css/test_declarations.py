"""tests.html.css.test_declarations"""

from cinder.html.css.declarations import (
    Declaration,
    parse_declarations,
    read_declarations,
    resolve_variables,
)


def test_declarations_keep_their_order_and_their_capitals() -> None:
    assert parse_declarations("COLOR: Red !IMPORTANT; --Big: A; background: url('a;b'); x") == [
        Declaration("color", "Red", is_important=True),
        Declaration("--Big", "A"),
        Declaration("background", "url('a;b')"),
    ]
    assert parse_declarations("") == []


def test_a_style_is_read_as_browsers_read_it() -> None:
    style = "Display: NONE !important; display: block; c\\6f lor: red /* ; x: y */; opacity: oops"
    assert read_declarations(style) == {"display": "none", "color": "red"}


def test_a_declaration_with_an_unknown_variable_declares_nothing() -> None:
    style = (
        "--own: 1px; left: var(--own); top: var(--page); right: var(--none); color: var(--c, red)"
    )
    assert read_declarations(style, {"--page": "2px"}) == {
        "--own": "1px",
        "left": "1px",
        "top": "2px",
        "color": "red",
    }


def test_custom_properties_are_followed_but_not_round_in_circles() -> None:
    properties = {"--a": "var(--b)", "--b": "red", "--x": "var(--y)", "--y": "var(--x)"}
    assert resolve_variables("1px var( --a )", properties) == "1px red"
    assert resolve_variables("var(--none, blue)", properties) == "blue"
    assert resolve_variables("1px var(--none)", properties) is None
    assert resolve_variables("1px var(--none)", properties, unknown="") == "1px"
    assert resolve_variables("var(--x)", properties) is None
