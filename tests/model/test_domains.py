import pytest

from cinder.model.domains import is_within, read_domain


@pytest.mark.parametrize(
    "text",
    [
        *("example.com", " EXAMPLE.com ", "www.example.com", "*.example.com", ".example.com"),
        *("https://example.com/path?q=1", "example.com:8080", "example.com.", "//example.com"),
    ],
)
def test_a_domain_may_be_written_in_many_ways(text: str) -> None:
    assert read_domain(text) == "example.com"


def test_a_domain_in_another_script_is_read_as_the_web_writes_it() -> None:
    assert read_domain("bücher.example") == "xn--bcher-kva.example"


@pytest.mark.parametrize(
    "text", ["", "  ", "*.", "a b", "exa mple.com", "ftp://a.example", "\ud800"]
)
def test_what_is_no_domain_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Not a domain"):
        read_domain(text)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *(("example.com", True), ("docs.example.com", True), ("a.b.example.com.", True)),
        *(("badexample.com", False), ("example.com.evil.test", False), ("com", False)),
    ],
)
def test_a_domain_has_its_subdomains_and_nothing_else(host: str, expected: bool) -> None:
    assert is_within(host, ["example.com"]) is expected
