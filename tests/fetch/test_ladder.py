import pytest

from cinder.errors import ConnectionFailed, ScrapeFailed, Unsupported
from cinder.fetch.base import FetchTask
from cinder.fetch.ladder import AttemptLog, Ladder, require_static
from cinder.fetch.retry import RetryPolicy
from cinder.model.document import FetchedPage, Source
from cinder.model.request import Format, RenderOptions, ScrapeRequest

TASK = FetchTask(url="https://a.example/", timeout_seconds=10)


class ScriptedFetcher:
    """An engine that answers as it is told: with a status, or with an error."""

    name = "scripted"

    def __init__(self, *script: int | Exception) -> None:
        self._script = list(script)
        self.tasks: list[FetchTask] = []

    async def fetch(self, task: FetchTask) -> FetchedPage:
        self.tasks.append(task)
        step = self._script.pop(0)
        if isinstance(step, Exception):
            raise step
        return FetchedPage(
            url=task.url,
            final_url=task.url,
            status_code=step,
            headers={},
            body=b"",
            source=Source.NATIVE,
            strategy=self.name,
        )


def climb(fetcher: ScriptedFetcher, **policy: float) -> tuple[Ladder, AttemptLog]:
    retry = RetryPolicy(max_retries=2, first_wait_seconds=policy.get("wait", 0))
    return Ladder(fetcher, retry), AttemptLog(1_000, lambda _strategy, _outcome: None)


async def test_a_broken_connection_is_tried_again() -> None:
    fetcher = ScriptedFetcher(ConnectionFailed("reset"), 200)
    ladder, log = climb(fetcher)
    assert (await ladder.fetch(TASK, log)).status_code == 200
    assert log.diagnostics.retry_count == 1
    assert log.diagnostics.last_error == "reset"


async def test_the_last_refusal_is_returned_when_patience_ends() -> None:
    ladder, log = climb(ScriptedFetcher(503, 429, 500))
    assert (await ladder.fetch(TASK, log)).status_code == 500
    assert log.diagnostics.retry_count == 2


async def test_other_failures_are_final() -> None:
    fetcher = ScriptedFetcher(ScrapeFailed("no certificate"))
    ladder, log = climb(fetcher)
    with pytest.raises(ScrapeFailed):
        await ladder.fetch(TASK, log)
    assert len(fetcher.tasks) == 1


async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    fetcher = ScriptedFetcher(503, 200)
    ladder, log = climb(fetcher, wait=15)
    assert (await ladder.fetch(TASK, log)).status_code == 503


async def test_each_attempt_gets_the_time_that_is_left() -> None:
    fetcher = ScriptedFetcher(503, 200)
    ladder, log = climb(fetcher, wait=0.05)
    await ladder.fetch(TASK, log)
    assert fetcher.tasks[1].timeout_seconds < fetcher.tasks[0].timeout_seconds <= 10


def test_what_needs_a_browser_is_named() -> None:
    for request in (
        ScrapeRequest(url="https://a.example/", formats=(Format.SCREENSHOT,)),
        ScrapeRequest(url="https://a.example/", render=RenderOptions(mobile=True)),
    ):
        with pytest.raises(Unsupported):
            require_static(request)
    require_static(ScrapeRequest(url="https://a.example/"))
