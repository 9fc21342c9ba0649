"""The scope of a crawl and the caller's patterns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.crawl.scope import (
    MAX_PATTERN_CHARS,
    MAX_PATTERNS,
    CrawlScope,
    ScopeKind,
    ScopeRules,
    compile_patterns,
    registered_domain,
)
from cinder.crawl.urls import canonicalize_url
from cinder.errors import InvalidRequest
from tests.crawl.samples import canonical

START = "https://www.example.co.uk/shop/"


def judge(
    url: str, kind: ScopeKind = ScopeKind.DOMAIN, *, start: str = START, depth: int = 2
) -> str | None:
    return CrawlScope(canonical(start), ScopeRules(kind=kind)).judge(canonical(url), depth)


@pytest.mark.parametrize(
    ("host", "kinds"),
    [
        ("www.example.co.uk", "host domain subdomains"),
        ("a.www.example.co.uk", "domain subdomains"),
        ("example.co.uk", "domain"),
        ("blog.example.co.uk", "domain"),
        ("other.co.uk", ""),
        ("xwww.example.co.uk.org", ""),
    ],
)
def test_each_scope_holds_its_hosts(host: str, kinds: str) -> None:
    held = [kind for kind in ScopeKind if judge(f"http://{host}/x", kind) is None]
    assert set(held) == set(kinds.split())


def test_another_port_of_the_host_is_outside_but_another_scheme_is_not() -> None:
    assert judge("http://www.example.co.uk/") is None
    outside = judge("https://www.example.co.uk:8443/")
    assert outside == "outside scope: other port of the same host"


@pytest.mark.parametrize("start", ["http://127.0.0.1:81/", "http://[::1]:81/", "http://box:81/"])
@pytest.mark.parametrize("kind", ScopeKind)
def test_addresses_and_plain_names_are_their_own_domain(start: str, kind: ScopeKind) -> None:
    assert judge(f"{start}x", kind, start=start) is None
    assert judge("http://10.0.0.1:81/", kind, start=start) is not None
    assert judge("http://[::2]:81/", kind, start=start) is not None


def test_hosts_under_a_public_suffix_belong_to_different_people() -> None:
    assert registered_domain("a.github.io") != registered_domain("b.github.io")
    assert registered_domain("github.io") == "github.io"
    assert registered_domain("www.example.com.") == "example.com"


def test_the_start_has_depth_one_and_links_the_next() -> None:
    assert judge("https://www.example.co.uk/a", depth=2) is None
    deeper = judge("https://www.example.co.uk/a", depth=3)
    assert deeper == "outside scope: deeper than maxDepth"


@pytest.mark.parametrize("name", ["a.jpg", "A.ZIP", "x.woff2", "song.mp3", "t.docx", "s.css"])
def test_files_are_no_pages(name: str) -> None:
    reason = judge(f"https://www.example.co.uk/{name}")
    assert reason == f"outside scope: a file, not a page (.{name.lower().rpartition('.')[2]})"


@pytest.mark.parametrize(
    "path", ["a.pdf", "a.html", "tags/node.js", "wiki/File:Map.png", "v1.2", ".jpg", "x.jpg/y"]
)
def test_what_may_be_a_page_is_taken(path: str) -> None:
    assert judge(f"https://www.example.co.uk/{path}") is None


def test_patterns_choose_and_the_start_is_exempt() -> None:
    rules = ScopeRules(include=("/blog.*",), exclude=("/admin.*", "/shop"))
    scope = CrawlScope(canonical(START), rules)

    def at(path: str) -> str | None:
        return scope.judge(canonical(f"https://www.example.co.uk{path}"), 2)

    assert at("/shop/") is None
    assert at("/blog/1") is None
    assert at("/blog/admin/2") == "outside scope: excluded by pattern '/admin.*'"
    assert at("/about") == "outside scope: matches no include pattern"


def test_wrong_patterns_are_named() -> None:
    with pytest.raises(InvalidRequest) as caught:
        CrawlScope(canonical(START), ScopeRules(exclude=("ok", "(")))
    assert [problem.field for problem in caught.value.problems] == ["excludePatterns.1"]


@given(st.text(alphabet="ab:.[]1-/?%@", max_size=30), st.sampled_from(ScopeKind))
def test_any_address_is_judged(rest: str, kind: ScopeKind) -> None:
    address = canonicalize_url(f"https://{rest}/")
    if address is not None:
        reason = CrawlScope(canonical(START), ScopeRules(kind=kind)).judge(address, 2)
        assert reason is None or reason.startswith("outside scope: ")


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
