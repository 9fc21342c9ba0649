"""The sandbox's child process: runs the jobs that its parent sends, one at a time.

Run as ``python -m cinder.sandbox.worker MEMORY_BYTES PARENT_PID [SCORER]``. It says `ready` once,
then answers each message on standard input with one on standard output, until its input ends.
"""

import ctypes
import gc
import os
import signal
import sys
from itertools import count
from pathlib import Path
from typing import BinaryIO

from cinder.documents.page_content import extract_content
from cinder.errors import InvalidRequest, Unsupported
from cinder.html.bombs import extract_unparsed
from cinder.html.inspection import inspect_html
from cinder.html.main_content.scorer import BlockScorer, shipped_scorer
from cinder.models.document import Json
from cinder.sandbox.messages import (
    PREFIX_BYTES,
    Message,
    extraction_answer,
    facts_answer,
    invalid_answer,
    read_header,
    read_header_size,
    read_options,
    read_unseen,
    unsupported_answer,
)

if sys.platform != "win32":
    import resource

_PR_SET_PDEATHSIG = 1
_JOBS_BETWEEN_COLLECTIONS = 20


def main(memory_bytes: int, parent_pid: int, scorer_file: str | None = None) -> None:
    """Serve jobs until the parent closes the pipe; a scorer of its own is for measurements."""
    _confine(memory_bytes, parent_pid)
    scorer = _load_scorer(scorer_file)
    jobs, answers = _take_pipes()
    _send(answers, Message("ready", {}))
    # A tree is hundreds of thousands of objects without a cycle: looking for one takes a tenth
    # of the time, so it is done between jobs, and only among what was made since the last look.
    gc.disable()
    for number in count(1):
        if (job := _receive(jobs)) is None:
            return
        _send(answers, _answer(job, scorer))
        if number % _JOBS_BETWEEN_COLLECTIONS == 0:
            gc.collect(0)


def _load_scorer(file: str | None) -> BlockScorer:
    # Before the first job, whose time is measured.
    return BlockScorer.from_bytes(Path(file).read_bytes()) if file else shipped_scorer()


def _confine(memory_bytes: int, parent_pid: int) -> None:
    # The terminal's Ctrl-C reaches the whole group; when to stop is the parent's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent_pid:
            sys.exit("The parent ended before its worker began.")
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes from and to the parent, out of reach of anything that prints."""
    jobs = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return jobs, answers


def _receive(jobs: BinaryIO) -> Message | None:
    prefix = jobs.read(PREFIX_BYTES)
    if len(prefix) < PREFIX_BYTES:
        return None
    kind, header, sizes = read_header(jobs.read(read_header_size(prefix)))
    return Message(kind, header, tuple(jobs.read(size) for size in sizes))


def _send(answers: BinaryIO, message: Message) -> None:
    answers.writelines(message.frame())
    answers.flush()


def _answer(job: Message, scorer: BlockScorer) -> Message:
    try:
        return _run(job, scorer)
    except InvalidRequest as exc:
        return invalid_answer(exc)
    except Unsupported as exc:
        return unsupported_answer(exc)
    except MemoryError:
        # Too little is left to go on with; the parent starts a fresh process.
        os._exit(1)
    except Exception as exc:  # noqa: BLE001 - the worker's outermost loop: it tells the parent
        return Message("failed", {"reason": f"{type(exc).__name__}: {exc}"[:500]})


def _run(job: Message, scorer: BlockScorer) -> Message:
    header = job.header
    if job.kind == "extract":
        extraction = extract_content(
            job.parts[0],
            content_type=str(header["content_type"]),
            url=str(header["url"]),
            options=read_options(header),
            scorer=scorer,
            unseen=read_unseen(header),
        )
        return extraction_answer(extraction, job.parts[0])
    if job.kind == "unparsed":
        return extraction_answer(
            extract_unparsed(
                job.parts[0],
                content_type=str(header["content_type"]),
                wants_markdown=bool(header["wants_markdown"]),
                reason=str(header["reason"]),
            ),
            job.parts[0],
        )
    if job.kind == "inspect":
        return facts_answer(inspect_html(job.parts[0].decode(), str(header["base_url"])))
    return _run_rare(job)


def _run_rare(job: Message) -> Message:
    """Do what most workers are never asked for, and load only then what that needs.

    To load all of it takes as long as all the rest.
    """
    if job.kind == "pdf":
        return _parse_pdf(job.parts[0], job.header)
    if job.kind == "compare":
        from cinder.sandbox.text_messages import answer_comparison  # noqa: PLC0415

        return answer_comparison(job)
    if job.kind == "fields":
        from cinder.sandbox.extraction_handlers import handle_fields  # noqa: PLC0415

        return handle_fields(job)
    if job.kind == "passages":
        from cinder.sandbox.text_messages import answer_passages  # noqa: PLC0415

        return answer_passages(job)
    if job.kind in ("try-recipes", "learn-recipe"):
        from cinder.sandbox import extraction_handlers as recipes  # noqa: PLC0415

        is_try = job.kind == "try-recipes"
        return (recipes.handle_try_recipes if is_try else recipes.handle_learn_recipe)(job)
    from cinder.sandbox import branding_messages  # noqa: PLC0415

    answers = {
        branding_messages.STYLESHEETS: branding_messages.answer_stylesheets,
        branding_messages.BRANDING: branding_messages.answer_branding,
    }
    return answers[job.kind](job)


def _parse_pdf(body: bytes, header: dict[str, Json]) -> Message:
    from cinder.documents.pdf.pdf_content import extract_pdf  # noqa: PLC0415

    extraction = extract_pdf(
        body,
        url=str(header["url"]),
        options=read_options(header),
        max_pages=int(str(header["max_pages"])),
    )
    return extraction_answer(extraction, body)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4])
