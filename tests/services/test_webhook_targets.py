"""Webhook targets: what is refused, and that there is always a secret."""

from dataclasses import replace

import pytest

from cinder.errors import InvalidRequest
from cinder.model.webhook import EventKind, read_target, write_target
from cinder.services.webhook_targets import WebhookOptions, make_target

URL = "https://receiver.test/hook"
SECRET = "a secret of the tests"


def fields_refused(options: WebhookOptions) -> list[str]:
    with pytest.raises(InvalidRequest) as caught:
        make_target(options)
    assert options.secret is None or options.secret not in str(caught.value)
    return [problem.field for problem in caught.value.problems]


def test_without_a_secret_one_is_made_each_time() -> None:
    first, second = (make_target(WebhookOptions(url=URL)) for _ in range(2))
    assert first.is_secret_generated
    assert len(first.secret) > 40
    assert first.secret != second.secret


def test_the_callers_secret_goes_before_that_of_the_settings() -> None:
    given = make_target(WebhookOptions(url=URL, secret=SECRET), default_secret="of the settings")
    default = make_target(WebhookOptions(url=URL), default_secret="of the settings")
    assert (given.secret, given.is_secret_generated) == (SECRET, False)
    assert (default.secret, default.is_secret_generated) == ("of the settings", False)


def test_all_events_are_told_unless_some_are_named() -> None:
    assert make_target(WebhookOptions(url=URL)).events == frozenset(EventKind)
    named = make_target(WebhookOptions(url=URL, events=["completed", "failed"]))
    assert named.events == {EventKind.COMPLETED, EventKind.FAILED}


def test_everything_that_is_wrong_is_named_at_once() -> None:
    options = WebhookOptions(
        url="ftp://receiver.test/",
        secret="short",
        events=["completed", "paged"],
        headers={"X-Cinder-Signature": "sha256=forged", "X-Fine": "yes"},
    )
    assert fields_refused(options) == [
        "webhook.url",
        "webhook.events",
        "webhook.secret",
        "webhook.headers.X-Cinder-Signature",
    ]


@pytest.mark.parametrize("name", ["Host", "Content-Length", "Content-Type", "User-Agent", "a b"])
def test_headers_that_are_not_the_callers_to_set_are_refused(name: str) -> None:
    options = WebhookOptions(url=URL, headers={name: "value"})
    assert fields_refused(options) == [f"webhook.headers.{name}"]


def test_no_events_at_all_are_refused() -> None:
    assert fields_refused(WebhookOptions(url=URL, events=[])) == ["webhook.events"]


def test_a_target_is_read_as_it_was_written() -> None:
    target = make_target(
        WebhookOptions(url=URL, events=["page"], headers={"Authorization": "Bearer hidden"})
    )
    assert read_target(write_target(target)) == target
    assert read_target(write_target(replace(target, is_secret_generated=False))) != target


def test_a_target_does_not_show_its_secrets() -> None:
    options = WebhookOptions(url=URL, secret=SECRET, headers={"Authorization": "Bearer hidden"})
    shown = repr(options) + repr(make_target(options))
    assert SECRET not in shown
    assert "hidden" not in shown
