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

# Nearly all objects of a page are freed by reference counting. By default the collector would run
# every 700 new objects.
_COLLECTION_THRESHOLD = 20_000


def freeze_startup_objects() -> None:
    """Exclude the objects of start-up from garbage collection, and run it less often."""
    gc.collect()
    gc.freeze()
    # At exit all objects must be freed: libraries report leaks on standard error.
    atexit.register(gc.unfreeze)
    gc.set_threshold(_COLLECTION_THRESHOLD)


log = structlog.get_logger()

# For the database, fetches through the egress proxy, browsers and parsers.
_OTHER_FILES = 2048


def fit_connections(max_connections: int, accepted_at_once: int) -> int:
    """Raise the limit of open files as needed; return the number of connections that fit.

    Without a free file descriptor, the event loop stops accepting for a second at a time.
    """
    # With a request in progress, and as many again without one.
    needed = 2 * max_connections + accepted_at_once + _OTHER_FILES
    limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    reachable = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if limit == resource.RLIM_INFINITY:
        limit = needed
    elif limit < reachable:
        resource.setrlimit(resource.RLIMIT_NOFILE, (reachable, hard))
        limit = reachable
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


# A shell reports this plus the signal's number for a process that a signal ended.
_SIGNAL_EXIT_BASE = 128
_REAP_SECONDS = 2
_KILL_ROUNDS = 5


def exit_by_signal(number: int) -> NoReturn:
    """Kill this process and its children, as a signal would; committed data is safe."""
    _write_error("received a second signal to stop: stopped at once")
    _kill_children_and_exit(_SIGNAL_EXIT_BASE + number)


def exit_after_timeout(after_seconds: float) -> threading.Timer:
    """Kill this process and its children, unless the timer is cancelled before."""

    def exit_late() -> None:
        _write_error(f"not everything had ended after {after_seconds:g} s; stopped all the same")
        _kill_children_and_exit(1)

    timer = threading.Timer(after_seconds, exit_late)
    timer.daemon = True
    timer.start()
    return timer


def _kill_children_and_exit(code: int) -> NoReturn:
    # Several rounds: processes may start meanwhile, and children of killed ones become ours.
    for _ in range(_KILL_ROUNDS):
        children = psutil.Process().children(recursive=True)
        if not children:
            break
        for child in children:
            with suppress(psutil.Error):
                child.kill()
        psutil.wait_procs(children, timeout=_REAP_SECONDS)
    # Without exit handlers, which may hang.
    os._exit(code)


def _write_error(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"cinder: {text}\n")
        sys.stderr.flush()
