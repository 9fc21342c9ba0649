"""A caller's patterns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.crawl.patterns import MAX_PATTERN_CHARS, MAX_PATTERNS, compile_patterns
from cinder.errors import InvalidRequest


def problems_of(*patterns: str) -> dict[str, str]:
    with pytest.raises(InvalidRequest) as caught:
        compile_patterns("includePatterns", patterns)
    return {problem.field: problem.message for problem in caught.value.problems}


def test_the_first_pattern_that_matches_anywhere_is_found() -> None:
    patterns = compile_patterns("excludePatterns", ["/admin.*", "(?i)LOGOUT", "admin"])
    assert patterns is not None
    assert patterns.find("https://e.com/x/admin/y") == "/admin.*"
    assert patterns.find("https://e.com/Logout?x") == "(?i)LOGOUT"
    assert patterns.find("https://e.com/ADMIN") is None


def test_a_quotation_left_open_ends_with_its_pattern() -> None:
    patterns = compile_patterns("excludePatterns", [r"\Qa.b", "c+"])
    assert patterns is not None
    assert patterns.find("https://e.com/a.b") == r"\Qa.b"
    assert patterns.find("https://e.org/ccc") == "c+"


def test_no_patterns_are_none() -> None:
    assert compile_patterns("includePatterns", []) is None


def test_every_wrong_pattern_is_named_with_what_is_wrong() -> None:
    found = problems_of("/blog", "(a", "(?=a)", "", "a" * (MAX_PATTERN_CHARS + 1), "a\ud800")
    assert list(found) == [f"includePatterns.{place}" for place in (1, 2, 3, 4, 5)]
    assert "missing )" in found["includePatterns.1"]
    assert str(MAX_PATTERN_CHARS) in found["includePatterns.4"]


def test_too_many_patterns_are_refused() -> None:
    assert list(problems_of(*["a"] * (MAX_PATTERNS + 1))) == ["includePatterns"]


def test_patterns_that_are_too_much_together_still_match_one_by_one() -> None:
    large = [f"{place}a{{999}}b{{999}}" for place in range(MAX_PATTERNS - 1)]
    patterns = compile_patterns("includePatterns", [*large, "/blog"])
    assert patterns is not None
    assert patterns.find("https://e.com/blog") == "/blog"
    assert patterns.find("https://e.com/") is None


@given(st.text(max_size=30))
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    try:
        patterns = compile_patterns("includePatterns", [text, "x"])
    except InvalidRequest:
        return
    assert patterns is not None
    assert patterns.find("https://e.com/x") is not None
