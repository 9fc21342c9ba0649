"""The exit status of a failed process, and the line on standard error that explains it."""

import sys

from cinder.api.errors import EXIT_BAD_INPUT, EXIT_FAILURE, advise, exit_code
from cinder.errors import CinderError, InvalidRequest


def report_failure(error: Exception) -> int | None:
    """Tell what failed; return the exit code, or None where this is nothing to be expected."""
    if isinstance(error, CinderError):
        print(f"cinder: {_one_line(error)}", file=sys.stderr)
        if next_step := advise(error):
            print(next_step, file=sys.stderr)
        return exit_code(error)
    if isinstance(error, OSError):
        told = f"cinder: {error.strerror or error}: {error.filename or ''}"
        print(told.rstrip(": "), file=sys.stderr)
        return EXIT_FAILURE
    if _is_settings_error(error):
        print(f"cinder: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    return None


def _one_line(error: CinderError) -> str:
    # Not before something failed: loading it takes time.
    from cinder.models.redaction import redact

    message = redact(error.message)
    return message if isinstance(error, InvalidRequest) else f"{message} [{error.code}]"


def _is_settings_error(error: Exception) -> bool:
    # Where no settings were read, the module is not loaded, and loading it would take time.
    config = sys.modules.get("cinder.config")
    return config is not None and isinstance(error, config.SettingsError)
