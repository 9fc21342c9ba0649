"""The table of errors: HTTP status, exit code, and the line that a command prints."""

import sys
from collections.abc import Sequence
from http import HTTPStatus
from math import ceil
from typing import TYPE_CHECKING

from cinder.errors import CinderError, DatabaseAway, ErrorCode, InvalidRequest, SettingsError
from cinder.models.document import NOTHING_INCLUDED, Document, Json, VerdictKind
from cinder.models.redaction import redact

if TYPE_CHECKING:
    from cinder.services.scraping.outcome import ScrapeOutcome


_STEALTH = "browser-stealth"

NEXT_STEP = {
    VerdictKind.BLOCKED: (
        "The site turns automated visitors away: try a stealth browser, later, or another source."
    ),
    VerdictKind.LOGIN_WALL: (
        "Only those who are logged in see it: profile master uses the owner's logins (cinder "
        "open-browser)."
    ),
    VerdictKind.PAYWALL: (
        "Only a teaser is free: try another source, or profile master where the owner subscribes."
    ),
    VerdictKind.CONSENT_ONLY: (
        "Mode dynamic hides most questions for consent; else let an action click its button."
    ),
    VerdictKind.SOFT_404: "What was asked for is not there: check the URL, or search for it.",
    VerdictKind.HTTP_ERROR: "Check the URL, or try again later.",
    VerdictKind.JS_SHELL: "Mode dynamic renders it in a browser; waitFor gives it more time.",
    VerdictKind.EMPTY: "Try onlyMainContent false, or mode dynamic.",
    VerdictKind.PARTIAL: "Try again with forceRescrape; mode dynamic may bring the rest.",
}
_BLOCKED_TO_STEALTH = (
    "The site turns automated visitors away, a stealth browser too: try later, or another source."
)
_NOT_THERE = "The server has no such page: check the URL, or search for the page."
_SITE_FAILS = "The site itself fails: try again later."
_PDF_WITHOUT_TEXT = "The PDF has no text to take out: look for another version of it."
_PDF_BEYOND_A_LIMIT = (
    "The PDF is longer than is read of one, as the warning says: the file, its raw body, has the "
    "rest."
)
_NOTHING_INCLUDED = "Give other includeTags, or none; mode dynamic may bring what they name."


def next_step_after(kind: VerdictKind, tried: Sequence[str], status_code: int | None = None) -> str:
    """Return what to do about a verdict, given the strategies that were tried."""
    if kind is VerdictKind.BLOCKED and _STEALTH in tried:
        return _BLOCKED_TO_STEALTH
    if kind is VerdictKind.HTTP_ERROR and status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return _NOT_THERE
    if kind is VerdictKind.HTTP_ERROR and status_code is not None and status_code >= 500:
        return _SITE_FAILS
    return NEXT_STEP[kind]


def next_step(document: Document, tried: Sequence[str]) -> str:
    """Return what to do about a document whose verdict is not `ok`."""
    kind, is_pdf = document.verdict.kind, document.content_type == "application/pdf"
    if kind is VerdictKind.EMPTY and is_pdf:
        return _PDF_WITHOUT_TEXT
    if kind is VerdictKind.EMPTY and NOTHING_INCLUDED in document.content.warnings:
        return _NOTHING_INCLUDED
    # If the connection broke off, a retry may get the rest; beyond a limit it cannot.
    if kind is VerdictKind.PARTIAL and is_pdf and not document.is_cut:
        return _PDF_BEYOND_A_LIMIT
    return next_step_after(kind, tried, document.status_code)


def explain_verdict(outcome: "ScrapeOutcome") -> dict[str, Json]:
    """Return the evidence and the next step of a verdict; nothing if it is `ok`."""
    verdict = outcome.document.verdict
    if verdict.kind is VerdictKind.OK:
        return {}
    tried = outcome.diagnostics.strategies
    explanation: dict[str, Json] = {
        "evidence": verdict.evidence,
        "nextStep": next_step(outcome.document, tried),
    }
    if tried:
        explanation["tried"] = tried
    if outcome.document.retry_after_seconds is not None:
        explanation["retryAfter"] = outcome.document.retry_after_seconds
    return explanation


HTTP_STATUS: dict[ErrorCode, int] = {
    ErrorCode.VALIDATION_ERROR: 400,
    ErrorCode.UNAUTHORIZED: 401,
    ErrorCode.EGRESS_BLOCKED: 403,
    ErrorCode.FORBIDDEN: 403,
    ErrorCode.ROBOTS_DISALLOWED: 403,
    ErrorCode.BATCH_NOT_FOUND: 404,
    ErrorCode.CRAWL_NOT_FOUND: 404,
    ErrorCode.SCRAPE_TIMEOUT: 408,
    ErrorCode.PROFILE_LOCKED: 409,
    ErrorCode.BATCH_EXPIRED: 410,
    ErrorCode.CRAWL_EXPIRED: 410,
    ErrorCode.CONTENT_TOO_LARGE: 413,
    ErrorCode.ACTION_FAILED: 422,
    ErrorCode.BLOCKED: 422,
    ErrorCode.PARSE_LIMIT: 422,
    ErrorCode.UNSUPPORTED: 422,
    ErrorCode.DNS_ERROR: 424,
    ErrorCode.TARGET_HTTP_ERROR: 424,
    ErrorCode.RATE_LIMITED: 429,
    ErrorCode.CACHE_ERROR: 500,
    ErrorCode.EXTRACTION_FAILED: 500,
    ErrorCode.SCRAPE_FAILED: 500,
    ErrorCode.BROWSER_UNAVAILABLE: 503,
    ErrorCode.OVERLOADED: 503,
    ErrorCode.SEARCH_FAILED: 503,
    ErrorCode.STORAGE_FULL: 507,
}

# The seconds to wait before a retry.
RETRY_AFTER = {status: {"Retry-After": "5"} for status in (429, 503)}

_UNAVAILABLE = 503

EXIT_FAILURE = 1
EXIT_BAD_INPUT = 2


def http_status(error: CinderError) -> int:
    """Return the HTTP status of an error: 503 while the database is away, else by its code."""
    return _UNAVAILABLE if isinstance(error, DatabaseAway) else HTTP_STATUS[error.code]


def advise(error: CinderError) -> str | None:
    """Return the next step after an error that has a verdict; None if it has none."""
    if not error.verdict:
        return None
    tried = error.diagnostics.strategies if error.diagnostics else []
    return next_step_after(VerdictKind(error.verdict), tried, error.status_code)


def describe_error(error: CinderError) -> dict[str, Json]:
    """Return an error as REST responses show it."""
    # What a field expected is in `validationErrors`.
    message = error.summary if isinstance(error, InvalidRequest) else error.message
    shown: dict[str, Json] = {"message": redact(message), "code": error.code}
    if error.url:
        shown["url"] = redact(error.url)
    if error.verdict:
        shown["verdict"] = error.verdict
        shown["nextStep"] = advise(error)
    if error.status_code is not None:
        shown["statusCode"] = error.status_code
    if error.retry_after_seconds is not None:
        shown["retryAfter"] = ceil(error.retry_after_seconds)
    if isinstance(error, InvalidRequest):
        shown["validationErrors"] = [
            {"field": problem.field, "message": redact(problem.message)}
            for problem in error.problems
        ]
    if error.diagnostics is not None and error.diagnostics.attempts:
        shown["diagnostics"] = {
            "attemptedStrategies": list(error.diagnostics.strategies),
            "lastError": redact(error.diagnostics.last_error or error.message),
            "retryCount": error.diagnostics.retry_count,
            "strategyErrors": {
                name: redact(text) for name, text in error.diagnostics.strategy_errors.items()
            },
            "timing": dict(error.diagnostics.timing),
            **({"proxyPool": pool} if (pool := error.diagnostics.proxy_pool) else {}),
        }
    return shown


def report_failure(error: Exception) -> int | None:
    """Print a failure; return the exit code, or None if the error is unexpected."""
    if isinstance(error, CinderError):
        is_bad_input = isinstance(error, InvalidRequest)
        code = "" if is_bad_input else f" [{error.code}]"
        print(f"cinder: {redact(error.message)}{code}", file=sys.stderr)
        if next_step := advise(error):
            print(next_step, file=sys.stderr)
        return EXIT_BAD_INPUT if is_bad_input else EXIT_FAILURE
    if isinstance(error, OSError):
        line = f"cinder: {error.strerror or error}: {error.filename or ''}"
        print(line.rstrip(": "), file=sys.stderr)
        return EXIT_FAILURE
    if isinstance(error, SettingsError):
        print(f"cinder: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    return None
