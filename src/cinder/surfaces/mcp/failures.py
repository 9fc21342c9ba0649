"""Failures said to a model: what failed, what to do next, and the way that was taken."""

import difflib
import json
from collections.abc import Iterable

from cinder.errors import CinderError, Diagnostics, ErrorCode, FieldProblem, InvalidRequest
from cinder.model.document import VerdictKind
from cinder.model.redaction import redact
from cinder.surfaces.errors import advise
from cinder.surfaces.mcp.deadline import SCRAPE_TIMEOUT_MS
from cinder.surfaces.mcp.untrusted import BOUNDARY_CHARS, within_boundary

MAX_CHARS = 1_000

_MESSAGE_CHARS = 450
_STRATEGY_ERROR_CHARS = 100

# Codes whose messages already say what to do next have no entry.
_NEXT_STEP = {
    ErrorCode.DNS_ERROR: "Check the spelling of the host name.",
    ErrorCode.SCRAPE_TIMEOUT: (
        f"Try again, or another page; a tool call has at most {SCRAPE_TIMEOUT_MS} ms."
    ),
    ErrorCode.SCRAPE_FAILED: "Check the URL, or try again later.",
    ErrorCode.CONTENT_TOO_LARGE: (
        "Use a smaller page; the owner can raise CINDER_SCRAPE__MAX_BODY_BYTES."
    ),
    ErrorCode.PARSE_LIMIT: "Use another page, or a smaller part of the HTML.",
    ErrorCode.CRAWL_NOT_FOUND: "Give the crawlId that cinder_crawl returned, or start a crawl.",
    ErrorCode.CRAWL_EXPIRED: "Start the crawl anew with cinder_crawl.",
    ErrorCode.BATCH_NOT_FOUND: "Give the jobId that scrape returned for urls, or start a batch.",
    ErrorCode.BATCH_EXPIRED: "Start the batch anew: scrape with urls.",
    ErrorCode.SEARCH_FAILED: "Try again later; `cinder doctor` tries each provider.",
    ErrorCode.EGRESS_BLOCKED: (
        "Use a public address; the owner can open others with CINDER_EGRESS__ALLOW."
    ),
    ErrorCode.ACTION_FAILED: (
        "Check the selector in the page's html, or put a wait before the action."
    ),
    ErrorCode.PROFILE_LOCKED: "Leave profile out, or have the owner close that browser.",
    ErrorCode.BROWSER_UNAVAILABLE: "Try mode static, without actions and screenshots.",
    ErrorCode.EXTRACTION_FAILED: "Read the pages with scrape first, to see what they are.",
    ErrorCode.UNSUPPORTED: "Call again without it.",
    ErrorCode.VALIDATION_ERROR: "Correct the arguments and call again.",
    ErrorCode.CACHE_ERROR: (
        "Try again; scrape with forceRescrape and resultHandling returnOnly needs no database."
    ),
    ErrorCode.STORAGE_FULL: (
        "Tell the owner. Saved pages can be read meanwhile, and scrape with resultHandling "
        "returnOnly keeps nothing."
    ),
}


def describe_failure(error: CinderError) -> str:
    """Return an error as a model reads it."""
    if isinstance(error, InvalidRequest) and error.problems:
        return redact(_describe_problems(error.problems))
    lines = [_cut(redact(error.message), _MESSAGE_CHARS)]
    is_blocked = error.verdict == VerdictKind.BLOCKED
    if next_step := advise(error) if is_blocked else _NEXT_STEP.get(error.code):
        lines.append(next_step)
    if error.diagnostics is not None and error.diagnostics.attempts:
        lines.append(f"Diagnostics: {_describe_diagnostics(error.diagnostics)}")
    text = "\n".join(lines)
    if _quotes_page(error):
        room = MAX_CHARS - BOUNDARY_CHARS - len(error.code) - 2
        return f"{error.code}: {within_boundary(_cut(text, room))}"
    return _cut(f"{error.code}: {text}", MAX_CHARS)


def _quotes_page(error: CinderError) -> bool:
    """Whether a failure repeats words of a page: what a script threw, a title, evidence."""
    is_telling = error.verdict not in (None, VerdictKind.HTTP_ERROR)
    return error.code is ErrorCode.ACTION_FAILED or is_telling


def describe_unexpected(tool: str) -> str:
    """Return what is said of a failure that nobody foresaw; its details are for the log alone."""
    return (
        f"INTERNAL_ERROR: {tool} failed in a way that cinder did not expect, and the details were "
        "logged. Try again with simpler arguments, or use another tool."
    )


def describe_unknown_tool(name: str, known: Iterable[str]) -> str:
    """Return what is said of a tool that does not exist."""
    names = list(known)
    near = difflib.get_close_matches(name[:100], names, n=1, cutoff=0.5)
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"There is no tool {_cut(name, 100)!r}.{meant} Call one of: {', '.join(names)}."


def describe_tool_off(name: str, offered: Iterable[str]) -> str:
    """Return what is said of a tool that exists, but was not chosen."""
    return (
        f"The tool {name} is not offered here: the owner, or the headers X-MCP-Toolsets and "
        f"X-MCP-Tools of this request, chose {', '.join(offered) or 'none'}. Call one of these, or "
        f"have the owner start cinder with --tools {name}."
    )


def _describe_problems(problems: tuple[FieldProblem, ...]) -> str:
    text = f"{ErrorCode.VALIDATION_ERROR}: Correct these arguments and call again."
    for index, problem in enumerate(problems):
        line = f"\n- {_cut(problem.field, 100)}: {problem.message}"
        rest = f"\n- and {len(problems) - index} more"
        if len(text) + len(line) + len(rest) > MAX_CHARS:
            return text + rest
        text += line
    return text


def _describe_diagnostics(diagnostics: Diagnostics) -> str:
    errors = {
        strategy: _cut(redact(error), _STRATEGY_ERROR_CHARS)
        for strategy, error in diagnostics.strategy_errors.items()
    }
    shown = {
        "strategiesAttempted": diagnostics.strategies,
        "strategyErrors": errors,
        "timing": diagnostics.timing,
    }
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def _cut(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"
