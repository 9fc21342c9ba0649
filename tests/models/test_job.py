"""Why a job ended."""

from datetime import UTC, datetime

import pytest

from cinder.models.job import EndedBy, Job, JobKind, JobStatus, PageStatus

NOW = datetime(2026, 1, 2, tzinfo=UTC)
LIMITS = {PageStatus.FETCHED: 10, PageStatus.LEFT: 3, PageStatus.TRAP: 2, PageStatus.OUTSIDE: 9}
NO_LIMIT = {
    PageStatus.FETCHED: 10,
    PageStatus.FAILED: 3,
    PageStatus.DUPLICATE: 2,
    PageStatus.OUTSIDE: 9,
}


def a_job(
    status: JobStatus, fates: dict[PageStatus, int], *, too_deep: int = 0, error: str | None = None
) -> Job:
    return Job(
        id="crawl-1",
        kind=JobKind.CRAWL,
        owner="owner",
        status=status,
        spec={},
        created_at=NOW,
        expires_at=NOW,
        max_pages=10,
        fates=fates,
        too_deep=too_deep,
        error=error,
    )


@pytest.mark.parametrize(
    ("job", "ended_by", "left_out"),
    [
        (a_job(JobStatus.COMPLETED, NO_LIMIT), "allPages", {}),
        (
            a_job(JobStatus.COMPLETED, LIMITS, too_deep=4),
            "maxPages",
            {"maxPages": 3, "maxDepth": 4, "trap": 2},
        ),
        (
            a_job(JobStatus.COMPLETED, {**NO_LIMIT, PageStatus.TRAP: 1}, too_deep=4),
            "maxDepth",
            {"maxDepth": 4, "trap": 1},
        ),
        (a_job(JobStatus.COMPLETED, {**NO_LIMIT, PageStatus.TRAP: 1}), "trap", {"trap": 1}),
        (
            a_job(JobStatus.COMPLETED, LIMITS, error="the job has had 5 bytes"),
            "maxBytes",
            {"maxBytes": 3, "trap": 2},
        ),
        (a_job(JobStatus.CANCELLED, LIMITS), "cancelled", {"cancelled": 3, "trap": 2}),
        (a_job(JobStatus.FAILED, LIMITS, error="no"), "failed", {"failed": 3, "trap": 2}),
        (
            a_job(JobStatus.RUNNING, {PageStatus.TRAP: 1}, too_deep=1),
            None,
            {"maxDepth": 1, "trap": 1},
        ),
    ],
)
def test_a_job_says_what_ended_it_and_what_each_limit_left_out(
    job: Job, ended_by: str | None, left_out: dict[EndedBy, int]
) -> None:
    assert (job.ended_by, job.left_out) == (ended_by, left_out)
