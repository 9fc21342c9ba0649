"""Scrape requests and key combinations."""

from dataclasses import fields

import pytest

from cinder.models.request import (
    Action,
    ActionType,
    ContentOptions,
    KeyPress,
    Profile,
    RenderOptions,
    ScrapeRequest,
    parse_key_combination,
)

CONTROL = KeyPress("Control", "ControlLeft", 17)
SHIFT = KeyPress("Shift", "ShiftLeft", 16)


@pytest.mark.parametrize(
    ("text", "press"),
    [
        ("Enter", KeyPress("Enter", "Enter", 13, "\r")),
        ("ArrowDown", KeyPress("ArrowDown", "ArrowDown", 40)),
        ("F12", KeyPress("F12", "F12", 123)),
        ("Shift", SHIFT),
        ("Space", KeyPress(" ", "Space", 32, " ")),
        (" ", KeyPress(" ", "Space", 32, " ")),
        ("a", KeyPress("a", "KeyA", 65, "a")),
        ("A", KeyPress("A", "KeyA", 65, "A")),
        ("7", KeyPress("7", "Digit7", 55, "7")),
        ("?", KeyPress("?", "Slash", 191, "?")),
        ("+", KeyPress("+", "Equal", 187, "+")),
        ("é", KeyPress("é", "", 0, "é")),
    ],
)
def test_a_key_is_named_by_its_name_or_its_character(text: str, press: KeyPress) -> None:
    assert parse_key_combination(text) == press


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("Return", "Enter"),
        ("esc", "Escape"),
        ("ENTER", "Enter"),
        ("Ctrl+a", "Control+a"),
        ("Cmd + Left", "Meta+ArrowLeft"),
    ],
)
def test_common_spellings_mean_the_same(alias: str, name: str) -> None:
    assert parse_key_combination(alias) == parse_key_combination(name)


def test_a_shortcut_holds_its_modifiers_and_types_nothing() -> None:
    press = parse_key_combination("Control+A")
    assert press == KeyPress("a", "KeyA", 65, held=(CONTROL,))
    assert press.modifiers == 2


def test_shift_types_what_stands_above() -> None:
    assert parse_key_combination("Shift+1") == KeyPress("!", "Digit1", 49, "!", (SHIFT,))
    assert parse_key_combination("Shift+Tab") == KeyPress("Tab", "Tab", 9, held=(SHIFT,))


def test_modifiers_add_up_and_count_once() -> None:
    assert parse_key_combination("Control+Shift+Control++").held == (CONTROL, SHIFT)
    assert parse_key_combination("Alt+Meta+x").modifiers == 5


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Entr", "Did you mean 'Enter'?"),
        ("arowdown", "Did you mean 'ArrowDown'?"),
        ("F13", "Did you mean 'F3'?"),
        ("Control+Tba", "Did you mean 'Tab'?"),
        ("Contrl+A", "is not a modifier. Known are: Alt, Control, Meta, Shift"),
        ("a+b", "'a' is not a modifier"),
        ("", "Unknown key"),
        ("Control+", "Unknown key"),
        ("\n", "Unknown key"),
        ("x" * 1_000, "Unknown key"),
    ],
)
def test_what_names_no_key_is_answered_with_the_nearest(text: str, hint: str) -> None:
    with pytest.raises(ValueError, match=r"key|modifier") as failure:
        parse_key_combination(text)
    assert hint in str(failure.value)
    assert len(str(failure.value)) < 250


URL = "https://site.example/page"


@pytest.mark.parametrize(
    "request_",
    [
        ScrapeRequest(url=URL, headers=(("Authorization", "Basic dTpw"),)),
        ScrapeRequest(url=URL, headers=(("Cookie", "a=b"),)),
        ScrapeRequest(url=URL, headers=(("X-Api-Key", "a"),)),
        ScrapeRequest(url=f"{URL}?a=1&token=abc"),
        ScrapeRequest(url=f"{URL}?X-Amz-Signature=abc"),
        ScrapeRequest(url=URL, render=RenderOptions(profile=Profile.MASTER)),
        ScrapeRequest(
            url=URL,
            render=RenderOptions(
                actions=(Action(type=ActionType.WRITE, selector="#password", text="a"),)
            ),
        ),
        ScrapeRequest(
            url=URL,
            render=RenderOptions(actions=(Action(type=ActionType.PRESS, key="a"),)),
        ),
        ScrapeRequest(
            url=URL,
            render=RenderOptions(
                actions=(Action(type=ActionType.EXECUTE_JAVASCRIPT, script="logIn()"),)
            ),
        ),
    ],
)
def test_what_only_this_caller_may_open_is_his_alone(request_: ScrapeRequest) -> None:
    assert request_.is_private


@pytest.mark.parametrize(
    "request_",
    [
        ScrapeRequest(url=URL),
        ScrapeRequest(url=f"{URL}?page=2&sort=new"),
        ScrapeRequest(url=URL, headers=(("Accept-Language", "de"),)),
        ScrapeRequest(
            url=URL,
            render=RenderOptions(actions=(Action(type=ActionType.SCROLL, direction="down"),)),
        ),
    ],
)
def test_what_everybody_gets_is_everybodys(request_: ScrapeRequest) -> None:
    assert not request_.is_private


CUSTOMIZING = (
    ContentOptions(include_tags=("p",)),
    ContentOptions(exclude_tags=("p",)),
    RenderOptions(actions=(Action(type=ActionType.SCROLL, direction="down"),)),
)
NEVER_CUSTOMIZING = {
    *("only_main_content", "clean", "pdf_parser", "mode", "wait_for_ms", "block_ads", "mobile"),
    *("proxy", "proxy_pool", "profile"),
}


@pytest.mark.parametrize("options", CUSTOMIZING)
def test_options_that_choose_words_customize(options: ContentOptions | RenderOptions) -> None:
    request_ = (
        ScrapeRequest(url=URL, content=options)
        if isinstance(options, ContentOptions)
        else ScrapeRequest(url=URL, render=options)
    )

    assert request_.is_customized


def test_of_every_option_it_is_known_whether_it_chooses_words() -> None:
    chosen = {
        field.name
        for options in CUSTOMIZING
        for field in fields(options)
        if getattr(options, field.name) != field.default
    }
    every = {field.name for field in fields(ContentOptions) + fields(RenderOptions)}

    assert chosen | NEVER_CUSTOMIZING == every
