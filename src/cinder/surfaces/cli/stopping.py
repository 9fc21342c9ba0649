"""Ending at once: what a second signal does, and a stop that takes too long."""

import os
import sys
import threading
from contextlib import suppress
from typing import NoReturn

import psutil

# What a shell reports for a process that a signal ended is this and the signal's number.
_BY_SIGNAL = 128
_REAP_SECONDS = 2
_ROUNDS = 5


def end_by_signal(number: int) -> NoReturn:
    """End this process and all that came of it, as by a signal; what was committed is safe."""
    _say("told to stop a second time: stopped at once")
    _end(_BY_SIGNAL + number)


def end_unless_done(after_seconds: float) -> threading.Timer:
    """End this process and all that came of it, unless the timer is cancelled before."""
    timer = threading.Timer(after_seconds, _give_up, (after_seconds,))
    timer.daemon = True
    timer.start()
    return timer


def _give_up(seconds: float) -> None:
    _say(f"not everything had ended after {seconds:g} s; stopped all the same")
    _end(1)


def _end(code: int) -> NoReturn:
    # Again, as a process may be born while the others are looked for, and the children of one that
    # was killed become ours.
    for _ in range(_ROUNDS):
        children = psutil.Process().children(recursive=True)
        if not children:
            break
        for child in children:
            with suppress(psutil.Error):
                child.kill()
        psutil.wait_procs(children, timeout=_REAP_SECONDS)
    # Nothing is left to be tidied up in good order, and what would be may hang.
    os._exit(code)


def _say(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"cinder: {text}\n")
        sys.stderr.flush()
