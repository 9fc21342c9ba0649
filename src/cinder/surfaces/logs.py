"""Logs: JSON lines on standard error, so that standard output stays free for answers."""

import logging
import sys

import structlog


def set_up_logs(level: str) -> None:
    """Send cinder's and its libraries' logs to standard error."""
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.dict_tracebacks,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(stream=sys.stderr, level=max(threshold, logging.WARNING), force=True)
