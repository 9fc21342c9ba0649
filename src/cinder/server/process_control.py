"""Control of a long-running process: forced exit, garbage collection, and the open-files limit."""

import atexit
import gc
import os
import resource
import sys
import threading
from contextlib import suppress
from typing import NoReturn

import psutil
import structlog

# Nearly all that a page makes is freed without the collector, which by itself would still look
# for cycles among every 700 new objects, and now and then among all there are.
_COLLECTION_THRESHOLD = 20_000


def freeze_startup_objects() -> None:
    """Leave what start-up has made alone from now on, and look at new objects by the thousands."""
    gc.collect()
    gc.freeze()
    # As it ends, all is freed: libraries report on standard error what is not.
    atexit.register(gc.unfreeze)
    gc.set_threshold(_COLLECTION_THRESHOLD)


log = structlog.get_logger()

# For the database, fetches through the egress proxy, browsers and parsers.
_OTHER_FILES = 2048


def fit_connections(max_connections: int, accepted_at_once: int) -> int:
    """Raise the limit of open files as far as needed and allowed; return what fits under it.

    Without a free descriptor the event loop accepts nothing for a second, again and again.
    """
    # With a request under way, and as many again without one.
    needed = 2 * max_connections + accepted_at_once + _OTHER_FILES
    limit = _raise_open_files_limit(needed)
    if limit >= needed:
        return max_connections
    room = limit - min(_OTHER_FILES, limit // 2) - accepted_at_once
    fitting = min(max_connections, max(1, room // 2))
    log.warning(
        "this process may open too few files for its connections: raise `ulimit -n`",
        open_files=limit,
        needed=needed,
        max_connections=fitting,
    )
    return fitting


def _raise_open_files_limit(needed: int) -> int:
    """Raise the soft limit towards the hard one; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return needed if soft == resource.RLIM_INFINITY else soft


# What a shell reports for a process that a signal ended is this and the signal's number.
_SIGNAL_EXIT_BASE = 128
_REAP_SECONDS = 2
_KILL_ROUNDS = 5


def exit_by_signal(number: int) -> NoReturn:
    """End this process and all that came of it, as by a signal; what was committed is safe."""
    _write_error("told to stop a second time: stopped at once")
    _kill_children_and_exit(_SIGNAL_EXIT_BASE + number)


def exit_after_timeout(after_seconds: float) -> threading.Timer:
    """End this process and all that came of it, unless the timer is cancelled before."""
    timer = threading.Timer(after_seconds, _exit_late, (after_seconds,))
    timer.daemon = True
    timer.start()
    return timer


def _exit_late(seconds: float) -> None:
    _write_error(f"not everything had ended after {seconds:g} s; stopped all the same")
    _kill_children_and_exit(1)


def _kill_children_and_exit(code: int) -> NoReturn:
    # Again, as a process may be born while the others are looked for, and the children of one that
    # was killed become ours.
    for _ in range(_KILL_ROUNDS):
        children = psutil.Process().children(recursive=True)
        if not children:
            break
        for child in children:
            with suppress(psutil.Error):
                child.kill()
        psutil.wait_procs(children, timeout=_REAP_SECONDS)
    # Nothing is left to be tidied up in good order, and what would be may hang.
    os._exit(code)


def _write_error(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"cinder: {text}\n")
        sys.stderr.flush()
