"""The time a tool call may take: clients give up after about sixty seconds, so cinder is sooner."""

from dataclasses import replace

from cinder.model.extract import ExtractRequest
from cinder.model.request import ScrapeRequest

SCRAPE_TIMEOUT_MS = 50_000
"""The most that fetching and reading a page may take."""

CALL_SECONDS = 54
"""The most that a whole call may take, storing included."""


def bound_timeout(request: ScrapeRequest) -> ScrapeRequest:
    """Return the request with a timeout that a client will wait for."""
    return replace(request, timeout_ms=min(request.timeout_ms, SCRAPE_TIMEOUT_MS))


def bound_extract(request: ExtractRequest) -> ExtractRequest:
    """Return the request with a time that a client will wait for."""
    return replace(request, timeout_ms=min(request.timeout_ms, SCRAPE_TIMEOUT_MS))
