"""The sandbox's child process, spoken to directly."""

import os
import subprocess
import sys

from cinder.sandbox.messages import (
    PREFIX_BYTES,
    Message,
    inspect_job,
    read_facts,
    read_header,
    read_header_size,
)

MEMORY_BYTES = 512 * 1024 * 1024


def run_worker(*messages: Message, parent_pid: int) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-I", "-m", "cinder.sandbox.worker"]
    return subprocess.run(
        [*command, str(MEMORY_BYTES), str(parent_pid)],
        input=b"".join(piece for message in messages for piece in message.frame()),
        capture_output=True,
        check=False,
        timeout=60,
    )


def read_answers(raw: bytes) -> list[Message]:
    answers = []
    while raw:
        end = PREFIX_BYTES + read_header_size(raw[:PREFIX_BYTES])
        kind, header, sizes = read_header(raw[PREFIX_BYTES:end])
        assert sizes == []
        answers.append(Message(kind, header))
        raw = raw[end:]
    return answers


def test_jobs_are_answered_in_order_until_the_input_ends() -> None:
    jobs = [inspect_job(f"<h1>{n}</h1>", "") for n in range(3)]
    done = run_worker(*jobs, parent_pid=os.getpid())
    ready, *answers = read_answers(done.stdout)
    assert (done.returncode, done.stderr, ready.kind) == (0, b"", "ready")
    assert [read_facts(answer).title for answer in answers] == ["0", "1", "2"]


def test_a_job_that_makes_no_sense_fails_alone() -> None:
    done = run_worker(
        Message("extract", {}, (b"",)), inspect_job("<h1>x</h1>", ""), parent_pid=os.getpid()
    )
    kinds = [answer.kind for answer in read_answers(done.stdout)]
    assert kinds == ["ready", "failed", "facts"]


def test_a_worker_whose_parent_is_gone_does_not_start() -> None:
    done = run_worker(inspect_job("<p>", ""), parent_pid=1)
    assert done.returncode == 1
    assert done.stdout == b""
