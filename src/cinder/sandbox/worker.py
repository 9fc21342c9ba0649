"""The sandbox's child process: runs the jobs that its parent sends, one at a time.

Run as ``python -m cinder.sandbox MEMORY_BYTES PARENT_PID [SCORER]``. It sends `ready` once,
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

from cinder.documents.page_content import extract_content, inspect_html
from cinder.errors import InvalidRequest, Unsupported
from cinder.html.bombs import extract_unparsed
from cinder.html.main_content.scorer import BlockScorer, read_scorer, shipped_scorer
from cinder.sandbox.messages import (
    PAGE_JOBS,
    PREFIX_BYTES,
    BrandingJob,
    CompareJob,
    ExtractionAnswer,
    ExtractJob,
    InspectJob,
    Message,
    PdfJob,
    SandboxJob,
    StylesheetsJob,
    UnparsedJob,
    read_sizes,
)
from cinder.text.content_type import Shape, content_kind

if sys.platform != "win32":
    import resource

_PR_SET_PDEATHSIG = 1
_JOBS_BETWEEN_COLLECTIONS = 20


def main(memory_bytes: int, parent_pid: int, scorer_folder: str | None = None) -> None:
    """Serve jobs until the parent closes the pipe; measurements pass a folder with a scorer."""
    _confine(memory_bytes, parent_pid)
    # Loaded before the first job, whose time is measured.
    scorer = read_scorer(Path(scorer_folder)) if scorer_folder else shipped_scorer()
    jobs, answers = _take_pipes()
    _send(answers, Message.of("ready", None))
    # A tree is hundreds of thousands of objects without a cycle, and collection would take a tenth
    # of a job's time. It runs between jobs, over the objects made since the last collection.
    gc.disable()
    gc.freeze()
    for number in count(1):
        prefix = jobs.read(PREFIX_BYTES)
        if len(prefix) < PREFIX_BYTES:
            return
        kind_bytes, content_bytes = read_sizes(prefix)
        job = Message(jobs.read(kind_bytes).decode(), jobs.read(content_bytes))
        _send(answers, _answer(job, scorer))
        if number % _JOBS_BETWEEN_COLLECTIONS == 0:
            gc.collect(0)


def _confine(memory_bytes: int, parent_pid: int) -> None:
    # The terminal's Ctrl-C reaches the whole group, but the parent decides when to stop.
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


def _send(answers: BinaryIO, message: Message) -> None:
    answers.writelines(message.frame())
    answers.flush()


def _answer(message: Message, scorer: BlockScorer) -> Message:
    try:
        return Message.of("result", _run(message, scorer))
    except InvalidRequest as exc:
        return Message.of("invalid", exc.problems)
    except Unsupported as exc:
        return Message.of("unsupported", exc.message)
    except MemoryError:
        # Too little memory is left to go on; the parent starts a new process.
        os._exit(1)
    except Exception as exc:  # noqa: BLE001 - the worker's outermost loop: it reports to the parent
        return Message.of("failed", f"{type(exc).__name__}: {exc}"[:500])


def _run(message: Message, scorer: BlockScorer) -> object:
    if message.kind not in PAGE_JOBS:
        return _run_extraction(message)
    job = message.read(PAGE_JOBS[message.kind])
    if isinstance(job, ExtractJob):
        extraction = extract_content(
            job.body,
            content_type=job.content_type,
            url=job.url,
            options=job.options,
            scorer=scorer,
            unseen=job.unseen,
        )
        return ExtractionAnswer.of(extraction, job.body, job.stored_form)
    if isinstance(job, UnparsedJob):
        extraction = extract_unparsed(
            job.body,
            content_type=job.content_type,
            url=job.url,
            formats=job.formats,
            reason=job.reason,
        )
        return ExtractionAnswer.of(extraction, job.body)
    if isinstance(job, InspectJob):
        return inspect_html(job.html, job.base_url)
    return _run_rare(job)


# The functions below import what they need when it is needed: most workers never get such a job,
# and to load all of it takes as long as all the rest.


def _run_rare(job: SandboxJob) -> object:
    if isinstance(job, PdfJob):
        from cinder.documents.pdf.pdf_content import extract_pdf  # noqa: PLC0415

        extraction = extract_pdf(
            job.body, url=job.url, options=job.options, max_pages=job.max_pages
        )
        return ExtractionAnswer.of(extraction, job.body)
    if isinstance(job, CompareJob):
        from cinder.text.diff import compare_texts  # noqa: PLC0415

        return compare_texts(job.before, job.after)
    from cinder.html.branding import find_stylesheets, read_branding  # noqa: PLC0415

    if isinstance(job, StylesheetsJob):
        return find_stylesheets(job.body, content_type=job.content_type, url=job.url)
    if isinstance(job, BrandingJob):
        return read_branding(
            job.body,
            content_type=job.content_type,
            url=job.url,
            sheets=job.sheets,
            samples=job.samples,
        )
    raise NotImplementedError(job.kind)


def _run_extraction(message: Message) -> object:
    from cinder.sandbox import extraction_messages as jobs  # noqa: PLC0415

    job = message.read(jobs.EXTRACTION_JOBS[message.kind])
    if isinstance(job, jobs.PassagesJob):
        from cinder.extraction.passage_ranking import rank_passages  # noqa: PLC0415

        return rank_passages(job.markdown, job.query, job.limit)
    from cinder.extraction.filling import extract_fields  # noqa: PLC0415
    from cinder.extraction.recipes.applying import extract_with_recipes  # noqa: PLC0415
    from cinder.extraction.recipes.learning import learn_recipe  # noqa: PLC0415
    from cinder.models.recipe import Recipe  # noqa: PLC0415

    assert isinstance(job, jobs.SavedPageJob)  # noqa: S101 - there is no other
    text, url, schema = job.text, job.url, job.schema
    is_html = text is not None and content_kind(job.content_type, text).shape is Shape.HTML
    html = text if is_html else None
    if isinstance(job, jobs.LearnRecipeJob):
        if html is None:
            return Recipe()
        return learn_recipe(html, job.markdown, url=url, schema=schema, values=job.values)
    readable = text if job.markdown is None else job.markdown
    if isinstance(job, jobs.TryRecipesJob):
        return extract_with_recipes(html, readable, url=url, schema=schema, recipes=job.recipes)
    return extract_fields(html, readable, url=url, schema=schema)
