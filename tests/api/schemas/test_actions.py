"""Browser actions: what is wrong with one is said before anything is fetched."""

from typing import Any

import pytest

from cinder.api.arguments import read_arguments
from cinder.api.schemas.actions import MAX_ACTIONS, MAX_SCRIPT_BYTES
from cinder.api.schemas.scrape import SCRAPE_CHECKS, ScrapeArguments
from cinder.errors import InvalidRequest
from cinder.models.request import OWNER, Action, ActionType, Format


def read(*actions: Any, **given: Any) -> ScrapeArguments:
    body = {"url": "a.example", "actions": list(actions), **given}
    return read_arguments(ScrapeArguments, body, *SCRAPE_CHECKS)


def problems(*actions: Any, **given: Any) -> dict[str, str]:
    with pytest.raises(InvalidRequest) as failure:
        read(*actions, **given)
    return {problem.field: problem.message for problem in failure.value.problems}


def test_every_action_of_the_specification_is_taken() -> None:
    arguments = read(
        {"type": "wait", "milliseconds": 2000},
        {"type": "click", "selector": "#cookie-accept"},
        {"type": "write", "selector": "input", "text": ""},
        {"type": "press", "key": "Control+A"},
        {"type": "scroll", "direction": "down"},
        {"type": "scroll", "direction": "up", "amount": 300},
        {"type": "screenshot"},
        {"type": "screenshot", "name": "after", "selector": None},
        {"type": "scrape"},
        {"type": "scrape", "selector": "#main-content"},
        {"type": "executeJavascript", "script": "return 1"},
    )
    request = arguments.to_request(caller=OWNER, default_formats=(Format.MARKDOWN,))
    assert len(request.render.actions) == 11
    assert request.render.actions[7] == Action(type=ActionType.SCREENSHOT, name="after")


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        ("wait", ["milliseconds"]),
        ("click", ["selector"]),
        ("write", ["selector", "text"]),
        ("press", ["key"]),
        ("scroll", ["direction"]),
        ("executeJavascript", ["script"]),
    ],
)
def test_a_missing_field_is_named(kind: str, missing: list[str]) -> None:
    assert problems({"type": kind}) == {
        f"actions[0].{name}": f"Required for the action '{kind}'" for name in missing
    }


def test_a_field_of_another_action_is_named() -> None:
    assert problems({"type": "click", "selector": "a", "text": "x", "amount": 3}) == {
        "actions[0].text": "Not a field of the action 'click', which takes: selector",
        "actions[0].amount": "Not a field of the action 'click', which takes: selector",
    }


@pytest.mark.parametrize(
    ("action", "field"),
    [
        ({"type": "click", "selector": " "}, "selector"),
        ({"type": "scrape", "selector": ""}, "selector"),
        ({"type": "executeJavascript", "script": ""}, "script"),
        ({"type": "executeJavascript", "script": "ü" * (MAX_SCRIPT_BYTES // 2 + 1)}, "script"),
        ({"type": "press", "key": "Entr"}, "key"),
        ({"type": "wait", "milliseconds": -1}, "milliseconds"),
        ({"type": "wait", "milliseconds": True}, "milliseconds"),
        ({"type": "scroll", "direction": "left"}, "direction"),
        ({"type": "scroll", "direction": "up", "amount": 0}, "amount"),
        ({"type": "hover", "selector": "a"}, "type"),
        ({"selector": "a"}, "type"),
    ],
)
def test_what_cannot_be_acted_on_is_named(action: dict[str, Any], field: str) -> None:
    assert list(problems({"type": "scrape"}, action)) == [f"actions[1].{field}"]


def test_the_nearest_key_is_offered() -> None:
    found = problems({"type": "press", "key": "Control+Entr"})
    assert "Did you mean 'Enter'?" in found["actions[0].key"]


def test_a_script_of_just_the_limit_is_taken() -> None:
    read({"type": "executeJavascript", "script": "1" * MAX_SCRIPT_BYTES})


def test_waits_together_last_a_minute_at_most() -> None:
    wait = {"type": "wait", "milliseconds": 30_000}
    read(wait, wait)
    assert list(problems(wait, wait, {"type": "wait", "milliseconds": "1"})) == ["actions"]


def test_actions_are_limited_in_number() -> None:
    read(*[{"type": "scrape"}] * MAX_ACTIONS)
    assert list(problems(*[{"type": "scrape"}] * (MAX_ACTIONS + 1))) == ["actions"]


def test_only_one_kind_of_screenshot_is_taken_at_a_time() -> None:
    found = problems(formats=["screenshot", "markdown", "fullscreenshot"])
    assert found == {"formats": "Give one of the two: screenshot or fullscreenshot"}
