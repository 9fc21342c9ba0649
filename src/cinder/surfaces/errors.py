"""How each error code is said: its HTTP status and the command line's exit code."""

from cinder.errors import CinderError, DatabaseAway, ErrorCode, InvalidRequest
from cinder.model.document import Json, VerdictKind
from cinder.model.redaction import redact
from cinder.surfaces.verdict_advice import next_step_after

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
    ErrorCode.PARSE_LIMIT: 422,
    ErrorCode.UNSUPPORTED: 422,
    ErrorCode.DNS_ERROR: 424,
    ErrorCode.RATE_LIMITED: 429,
    ErrorCode.CACHE_ERROR: 500,
    ErrorCode.EXTRACTION_FAILED: 500,
    ErrorCode.SCRAPE_FAILED: 500,
    ErrorCode.BROWSER_UNAVAILABLE: 503,
    ErrorCode.OVERLOADED: 503,
    ErrorCode.SEARCH_FAILED: 503,
    ErrorCode.STORAGE_FULL: 507,
}

# What to wait, in whole seconds, where the answer is to come back later.
RETRY_AFTER = {status: {"Retry-After": "5"} for status in (429, 503)}

_UNAVAILABLE = 503

EXIT_FAILURE = 1
EXIT_BAD_INPUT = 2


def http_status(error: CinderError) -> int:
    """Return an error's status: its code's, but for a database that will be back."""
    return _UNAVAILABLE if isinstance(error, DatabaseAway) else HTTP_STATUS[error.code]


def exit_code(error: CinderError) -> int:
    """Return what the command line exits with: 2 where the input was wrong, else 1."""
    return EXIT_BAD_INPUT if isinstance(error, InvalidRequest) else EXIT_FAILURE


def advise(error: CinderError) -> str | None:
    """Return what to do about a failure that has a verdict; None where it has none."""
    tried = error.diagnostics.strategies if error.diagnostics else []
    return next_step_after(VerdictKind(error.verdict), tried) if error.verdict else None


def describe_error(error: CinderError) -> dict[str, Json]:
    """Return an error as REST answers show it."""
    shown: dict[str, Json] = {"message": redact(error.message), "code": error.code}
    if error.url:
        shown["url"] = redact(error.url)
    if error.verdict:
        shown["verdict"] = error.verdict
        shown["nextStep"] = advise(error)
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
        }
    return shown
