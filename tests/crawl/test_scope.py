"""What belongs to a crawl."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.crawl.addresses import read_address
from cinder.crawl.scope import Scope, ScopeKind, ScopeRules, registered_domain
from cinder.errors import InvalidRequest
from tests.crawl.reading import address_at

START = "https://www.example.co.uk/shop/"


def judge(
    url: str, kind: ScopeKind = ScopeKind.DOMAIN, *, start: str = START, depth: int = 2
) -> str | None:
    return Scope(address_at(start), ScopeRules(kind=kind)).judge(address_at(url), depth)


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
    scope = Scope(address_at(START), rules)

    def at(path: str) -> str | None:
        return scope.judge(address_at(f"https://www.example.co.uk{path}"), 2)

    assert at("/shop/") is None
    assert at("/blog/1") is None
    assert at("/blog/admin/2") == "outside scope: excluded by pattern '/admin.*'"
    assert at("/about") == "outside scope: matches no include pattern"


def test_wrong_patterns_are_named() -> None:
    with pytest.raises(InvalidRequest) as caught:
        Scope(address_at(START), ScopeRules(exclude=("ok", "(")))
    assert [problem.field for problem in caught.value.problems] == ["excludePatterns.1"]


@given(st.text(alphabet="ab:.[]1-/?%@", max_size=30), st.sampled_from(ScopeKind))
def test_any_address_is_judged(rest: str, kind: ScopeKind) -> None:
    address = read_address(f"https://{rest}/")
    if address is not None:
        reason = Scope(address_at(START), ScopeRules(kind=kind)).judge(address, 2)
        assert reason is None or reason.startswith("outside scope: ")
