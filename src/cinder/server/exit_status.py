"""The exit status of a failed process, and the line on standard error that explains it."""

import sys

from cinder.api.errors import EXIT_BAD_INPUT, EXIT_FAILURE, advise, exit_code
from cinder.errors import CinderError, InvalidRequest


def report_failure(error: Exception) -> int | None:
    """Print a failure; return the exit code, or None if the error is unexpected."""
    # Neither module is imported unless it is needed: imports take time.
    config = sys.modules.get("cinder.config")
    if isinstance(error, CinderError):
        from cinder.models.redaction import redact

        code = "" if isinstance(error, InvalidRequest) else f" [{error.code}]"
        print(f"cinder: {redact(error.message)}{code}", file=sys.stderr)
        if next_step := advise(error):
            print(next_step, file=sys.stderr)
        return exit_code(error)
    if isinstance(error, OSError):
        line = f"cinder: {error.strerror or error}: {error.filename or ''}"
        print(line.rstrip(": "), file=sys.stderr)
        return EXIT_FAILURE
    if config is not None and isinstance(error, config.SettingsError):
        print(f"cinder: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    return None
