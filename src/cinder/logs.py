"""Logging: JSON lines on standard error, with secrets redacted."""

import logging
import sys

import structlog

from cinder.models.redaction import redact_line

# Local variables of a failing frame contain headers, cookies and passwords.
_WITHOUT_LOCALS = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
)


def _hide_secrets(
    _logger: object, _method: str, line: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    return redact_line(line)


_COMMON: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def configure_logs(level: str) -> None:
    """Write cinder's logs, and the warnings of its libraries, to standard error."""
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*_COMMON, _WITHOUT_LOCALS, _hide_secrets, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_COMMON,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _WITHOUT_LOCALS,
                _hide_secrets,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(threshold, logging.WARNING), force=True)
