"""Webhook events: their bytes, and which are made at all."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cinder.model.job import Fate, Job, JobKind, JobStatus, PageResult
from cinder.model.webhook import EventKind, WebhookTarget, write_target
from cinder.services.webhook_events import JobEvents, sign
from cinder.services.webhook_targets import SPEC_KEY

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
    fates={Fate.FETCHED: 2, Fate.FAILED: 1},
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
        events.page("https://site.test/", PageResult(fate=Fate.FETCHED)),
    ):
        assert event is not None
        message = json.loads(event.body)
        assert all(re.search(f'[`"]{name}[`"]', page) for name in (*message, *message["data"]))


def test_only_the_events_that_were_asked_for_are_made() -> None:
    events = JobEvents(replace(TARGET, events=frozenset({EventKind.FAILED})), JOB)
    assert events.started(JOB) is None
    assert events.page("https://site.test/", PageResult(fate=Fate.FAILED)) is None
    assert events.ended(JOB) is None
    assert events.ended(replace(JOB, status=JobStatus.FAILED)) is not None


def test_a_title_that_no_database_holds_is_told_all_the_same() -> None:
    result = PageResult(fate=Fate.FETCHED, title="nul \x00, surrogate \ud800")
    event = JobEvents(TARGET, JOB).page("https://site.test/", result)
    assert event is not None
    assert event.body.isascii()
    assert event.body.isprintable()


def test_a_job_without_a_target_tells_nobody() -> None:
    assert JobEvents.of(replace(JOB, spec={})) is None
    assert JobEvents.of(JOB) == JobEvents(TARGET, JOB)
