"""Runs the sandbox's child process, which `worker` describes."""

import gc
import sys

# Imports create many objects and free few. The worker decides when to collect.
gc.disable()

from cinder.sandbox.worker import main  # noqa: E402 - imported without garbage collection

main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4])
