"""Webhook targets: which are refused, and their secrets."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cinder.errors import InvalidRequest
from cinder.models.job import Job, JobKind, JobStatus, PageResult, PageStatus
from cinder.models.webhook import EventKind, WebhookTarget, read_target, write_target
from cinder.services.webhooks import SPEC_KEY, JobEvents, WebhookOptions, make_target, sign

PAGE = Path(__file__).parents[2] / "docs" / "webhooks.md"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
TARGET = WebhookTarget(url="https://receiver.test/hook", secret="a secret of the tests")
JOB = Job(
    id="job",
    kind=JobKind.BATCH,
    owner="owner",
    status=JobStatus.COMPLETED,
    spec={SPEC_KEY: write_target(TARGET)},
    created_at=NOW,
    started_at=NOW,
    finished_at=NOW,
    expires_at=NOW,
    max_pages=10,
    found=3,
    fates={PageStatus.FETCHED: 2, PageStatus.FAILED: 1},
)


def test_the_signature_is_that_of_the_raw_body() -> None:
    # The test vector of RFC 4231, 4.3.
    signature = sign("Jefe", b"what do ya want for nothing?")
    assert signature == ("sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")


def test_the_end_of_a_batch_has_its_numbers() -> None:
    event = JobEvents(TARGET, JOB, lambda: NOW).ended(JOB)
    assert event is not None
    assert json.loads(event.body) == {
        "id": event.id,
        "type": "batch.completed",
        "createdAt": "2026-01-02T03:04:05.678Z",
        "data": {
            "jobId": "job",
            "status": "completed",
            "found": 3,
            "fetched": 2,
            "failed": 1,
            "startedAt": "2026-01-02T03:04:05.678Z",
            "finishedAt": "2026-01-02T03:04:05.678Z",
            "endedBy": "allPages",
            "leftOut": {},
            "error": None,
        },
    }
    assert event.headers["X-Cinder-Signature"] == sign(TARGET.secret, event.body.encode())


def test_the_example_in_the_documents_tells_genuine_events_from_others() -> None:
    example = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert example is not None
    names: dict[str, Any] = {}  # Any: whatever the example defines
    exec(example[1], names)
    event = JobEvents(TARGET, JOB, lambda: NOW).started(JOB)
    assert event is not None
    body, signature = event.body.encode(), event.headers["X-Cinder-Signature"]

    assert names["read_event"](TARGET.secret, body, signature)["type"] == "batch.started"
    with pytest.raises(PermissionError):
        names["read_event"](TARGET.secret, body.replace(b"batch", b"crawl"), signature)


def test_the_documents_name_every_field_of_an_event() -> None:
    events = JobEvents(TARGET, JOB)
    page = PAGE.read_text()
    for event in (
        events.started(JOB),
        events.page("https://site.test/", PageResult(fate=PageStatus.FETCHED)),
    ):
        assert event is not None
        message = json.loads(event.body)
        assert all(re.search(f'[`"]{name}[`"]', page) for name in (*message, *message["data"]))


def test_only_the_events_that_were_asked_for_are_made() -> None:
    events = JobEvents(replace(TARGET, events=frozenset({EventKind.FAILED})), JOB)
    assert events.started(JOB) is None
    assert events.page("https://site.test/", PageResult(fate=PageStatus.FAILED)) is None
    assert events.ended(JOB) is None
    assert events.ended(replace(JOB, status=JobStatus.FAILED)) is not None


def test_a_title_that_no_database_holds_is_told_all_the_same() -> None:
    result = PageResult(fate=PageStatus.FETCHED, title="nul \x00, surrogate \ud800")
    event = JobEvents(TARGET, JOB).page("https://site.test/", result)
    assert event is not None
    assert event.body.isascii()
    assert event.body.isprintable()


def test_a_job_without_a_target_tells_nobody() -> None:
    assert JobEvents.of(replace(JOB, spec={})) is None
    assert JobEvents.of(JOB) == JobEvents(TARGET, JOB)


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
