import pytest

from cinder.search.duckduckgo_page import PageKind, read_page


def page_with(href: str) -> bytes:
    link = f'<a class="result__a" href="{href}">T</a>'
    return f'<div id="links"><div class="result web-result">{link}</div></div>'.encode()


@pytest.mark.parametrize(
    ("href", "url"),
    [
        (
            "//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F%3Fq%3D1%262&amp;rut=1",
            "https://a.example/?q=1&2",
        ),
        ("/l/?kh=-1&amp;uddg=https%3A%2F%2Fa.example%2F", "https://a.example/"),
        ("https://a.example/l/?uddg=x", "https://a.example/l/?uddg=x"),
        ("https://notduckduckgo.com/y.js", "https://notduckduckgo.com/y.js"),
        ("https://duckduckgo.com/y.js?ad_domain=a.example", None),
        ("https://html.duckduckgo.com/y.js?u3=https://a.example", None),
        ("//duckduckgo.com/l/?rut=1", None),
        ("https://[", None),
        ("", None),
    ],
)
def test_links_are_unwrapped_and_those_of_ads_left_out(href: str, url: str | None) -> None:
    assert [item.url for item in read_page(page_with(href)).items] == ([url] if url else [])


def test_only_the_fields_of_the_next_page_are_taken_from_its_form() -> None:
    long = "x" * 501
    read = read_page(
        f"""<div id="links"></div><form action="https://evil.example"><input name="q" value="other">
        <input name="vqd" value="4-1"><input name="s" value="10"><input name="evil" value="1">
        <input name="v" value="{long}"></form>""".encode()
    )
    assert read.next_fields == (("vqd", "4-1"), ("s", "10"))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'<form id="challenge-form">', PageKind.CHALLENGE),
        (b'<div id="links"><div class="anomaly-modal__title">', PageKind.CHALLENGE),
        (b'<div class="no-results">', PageKind.RESULTS),
        (b"", PageKind.UNKNOWN),
        (b"<div>" * 20_000, PageKind.UNKNOWN),
    ],
)
def test_what_was_answered_is_told_apart(body: bytes, kind: PageKind) -> None:
    assert read_page(body).kind is kind
