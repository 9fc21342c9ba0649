"""A caller's patterns for URLs: RE2, which takes linear time whatever the pattern is."""

from collections.abc import Sequence
from typing import Protocol

import re2

from cinder.errors import FieldProblem, InvalidRequest

MAX_PATTERNS = 50
MAX_PATTERN_CHARS = 1_000
_MAX_MEMORY_BYTES = 1024 * 1024


class _Compiled(Protocol):
    def search(self, text: bytes) -> object | None: ...


class Patterns:
    """Patterns, of which the first that matches anywhere in a URL counts."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [(pattern, _compile(pattern)) for pattern in patterns]
        self._any = _join(patterns)

    def find(self, url: str) -> str | None:
        """Return the first pattern that matches, or None."""
        encoded = url.encode()
        if self._any is not None and self._any.search(encoded) is None:
            return None
        matching = (pattern for pattern, compiled in self._patterns if compiled.search(encoded))
        return next(matching, None)


def compile_patterns(field: str, patterns: Sequence[str]) -> Patterns | None:
    """Return a request's patterns, ready to match; None where it has none.

    Raises:
        InvalidRequest: it names every pattern that is not one, or says that they are too many.
    """
    if not patterns:
        return None
    if len(patterns) > MAX_PATTERNS:
        message = f"At most {MAX_PATTERNS} patterns can be given"
        raise InvalidRequest(problems=(FieldProblem(field, message),))
    found = ((f"{field}.{place}", _problem_of(each)) for place, each in enumerate(patterns))
    problems = tuple(FieldProblem(name, message) for name, message in found if message)
    if problems:
        raise InvalidRequest(problems=problems)
    return Patterns(patterns)


def _problem_of(pattern: str) -> str | None:
    if not pattern:
        return "An empty pattern would match every URL; leave it out"
    if len(pattern) > MAX_PATTERN_CHARS:
        return f"Too long: a pattern has at most {MAX_PATTERN_CHARS} characters"
    try:
        _compile(pattern)
    except ValueError as exc:
        return f"Not a valid RE2 pattern: {exc}"
    return None


def _join(patterns: Sequence[str]) -> _Compiled | None:
    """Return one pattern for all, since nearly all URLs match none; None where that is too much."""
    # A quotation may be left open at a pattern's end, and would go on into the next.
    if len(patterns) == 1 or any(r"\Q" in pattern for pattern in patterns):
        return None
    try:
        return _compile("|".join(f"(?:{pattern})" for pattern in patterns))
    except ValueError:
        return None


def _compile(pattern: str) -> _Compiled:
    options = re2.Options()
    options.max_mem = _MAX_MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    try:
        compiled: _Compiled = re2.compile(pattern.encode(), options)
    except re2.error as exc:
        said = exc.args[0] if exc.args else b""
        reason = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise ValueError(reason) from exc
    return compiled
