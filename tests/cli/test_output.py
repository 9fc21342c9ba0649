"""What a watcher sees of a job: on a terminal, without one, and as JSON."""

import json
import os
import pty
import re
from contextlib import suppress
from dataclasses import replace

import pytest

from cinder.cli.output import (
    JobSummary,
    JobView,
    JsonLines,
    PageRate,
    PlainLines,
    ProgressBar,
    pluralize,
    replace_unprintable,
)


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def a_view(status: str = "running", *, fetched: int = 3, url: str = "http://a.test/x") -> JobView:
    return JobView.from_answer(
        {
            "crawlId": "crawl-1",
            "status": status,
            "pagesFound": 10,
            "pagesCrawled": fetched,
            "queued": 6,
            "errorCount": 1,
            "progress": 40.0,
            "pages": [{"url": url}],
            "hasMore": False,
        }
    )


def test_a_batch_is_seen_as_a_crawl_is() -> None:
    view = JobView.from_answer(
        {
            "jobId": "batch-1",
            "status": "scraping",
            "total": 5,
            "completed": 3,
            "creditsUsed": 2,
            "queued": 2,
            "errorCount": 1,
            "progress": 60.0,
            "warning": "the database rests",
            "pages": [],
            "hasMore": True,
        }
    )
    assert (view.id, view.found, view.fetched, view.errors) == ("batch-1", 5, 2, 1)
    assert (view.is_over, view.error, view.has_more_pages) == (False, "the database rests", True)


def test_the_rate_is_that_of_the_last_seconds() -> None:
    clock = Clock()
    rate = PageRate(clock)
    for pages in (0, 100, 200):
        rate.note(pages)
        clock.now += 1
    assert rate.per_second == 100
    clock.now += 60
    rate.note(200)
    assert rate.per_second == 0


def test_json_lines_repeat_no_figures(capsys: pytest.CaptureFixture[str]) -> None:
    with JsonLines() as display:
        display.show(a_view())
        display.show(a_view())
        display.conclude(
            a_view("completed"), JobSummary({"traps": 2}, [{"url": "u", "error": "e"}])
        )
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in told] == ["page", "progress", "page", "error", "end"]
    assert (told[-1]["status"], told[-1]["traps"]) == ("completed", 2)


def test_without_a_terminal_a_line_comes_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with PlainLines(clock) as display:
        display.show(a_view())
        clock.now += 11
        display.show(a_view())
        display.show(a_view())
        display.conclude(a_view("failed"), JobSummary({}, [{"url": "u", "error": "e"}]))
    captured = capsys.readouterr()
    assert captured.out == "crawl-1 failed: 3 pages fetched, 1 error\n"
    assert captured.err == "running: 3 of 10 pages, 6 queued, 1 error\n  u  e\n"


def test_one_of_a_thing_is_told_in_the_singular() -> None:
    assert [pluralize(count, "pages fetched") for count in (0, 1, 2)] == [
        "0 pages fetched",
        "1 page fetched",
        "2 pages fetched",
    ]


def test_what_robots_txt_disallows_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    with PlainLines(Clock()) as display:
        display.conclude(a_view("completed"), JobSummary({"traps": 1}, [], disallowed=1))
    told = "3 pages fetched, 1 trap, 1 disallowed by robots.txt, 0 errors"
    assert capsys.readouterr().out == f"crawl-1 completed: {told}\n"


def test_errors_that_are_not_shown_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    answer = a_view("completed")
    many = [{"url": f"u{n}", "error": "e"} for n in range(1)]
    with PlainLines(Clock()) as display:
        display.conclude(answer, JobSummary({}, many))
        display.conclude(answer, JobSummary({}, []))
    assert capsys.readouterr().err == "  u0  e\n  and 1 more\n"


def test_the_bar_shows_pages_rate_queue_errors_and_the_last_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    master, slave = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with os.fdopen(slave, "w") as terminal, ProgressBar(terminal) as display:
        display.show(a_view(url="http://a.test/\x1b[31mred"))
    shown = read_all(master)
    os.close(master)
    assert "3 pages, 0.0/s, 6 queued, 1 error " in shown
    assert "http://a.test/\ufffd[31mred" in shown


def test_the_bar_stays_on_one_line_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    view = replace(a_view(url=f"http://a.test/{'x' * 200}"), fetched=100_000, queued=1_000_000)
    with os.fdopen(slave, "w") as terminal, ProgressBar(terminal) as display:
        display.show(view)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", read_all(master))
    os.close(master)
    lines = [line for line in re.split(r"[\r\n]+", shown) if line.strip()]
    assert max(map(len, lines)) <= 80
    assert "100000 pages, 0.0/s, 1000000 queued, 1 error" in lines[-1]
    assert "http" in lines[-1]


def read_all(master: int) -> str:
    """Return all that was written to a terminal that is closed by now."""
    read = b""
    with suppress(OSError):  # how a terminal says that there is no more
        while chunk := os.read(master, 100_000):
            read += chunk
    return read.decode()


def test_a_page_moves_nobodys_cursor() -> None:
    assert replace_unprintable("a\x1b[2Jb\r") == "a\ufffd[2Jb\ufffd"
