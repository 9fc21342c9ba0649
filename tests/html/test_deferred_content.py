"""tests.html.test_deferred_content"""

from cinder.documents.page_content import extract_content
from cinder.html.deferred_content import open_shadow_roots, place_streamed_parts, unwrap_noscript
from cinder.html.tree import parse_html
from cinder.models.request import ExtractOptions


def _placed(html: str) -> str | None:
    body = parse_html(html).css("body")[0]
    place_streamed_parts(body)
    return body.inner_html


def test_a_part_takes_the_place_of_its_fallback() -> None:
    html = (
        '<p>a</p><!--$?--><template id="B:0"></template><p>wait</p><!--/$--><p>end</p>'
        '<div hidden id="S:0"><p>real</p></div>'
    )
    assert _placed(html) == "<p>a</p><!--$?--><p>real</p><!--/$--><p>end</p>"


def test_boundaries_within_a_fallback_are_part_of_it() -> None:
    html = (
        '<main><!--$?--><template id="B:0"></template><!--$-->a<!--/$-->b<!--/$-->c</main>'
        '<div hidden id="S:0">real</div>'
    )
    assert _placed(html) == "<main><!--$?-->real<!--/$-->c</main>"


def test_a_fallback_without_an_end_stays() -> None:
    html = '<hr><template id="B:0"></template><p>kept</p><div hidden id="S:0">real</div>'
    assert _placed(html) == "<hr>real<p>kept</p>"


def test_a_part_without_a_place_is_shown_where_it_is() -> None:
    assert _placed('<div hidden id="S:7">x</div>') == '<div id="S:7">x</div>'


def test_parts_that_hold_each_others_places_end() -> None:
    html = (
        '<div hidden id="S:0">a<template id="B:1"></template></div>'
        '<div hidden id="S:1">b<template id="B:0"></template></div>'
    )
    assert "hidden" not in (_placed(html) or "")


THREAD = "<p>A post that was written by someone who had a question to ask.</p>" * 10


def shown(html: str) -> str:
    body = parse_html(html).body
    assert body is not None
    unwrap_noscript(body)
    return body.inner_html or ""


def test_a_thread_for_visitors_without_scripts_is_shown() -> None:
    html = f"<div id=app>Loading</div><noscript><main>{THREAD}</main></noscript>"

    assert shown(html) == f'<div id="app">Loading</div><main>{THREAD}</main>'


def test_a_request_to_switch_scripts_on_stays_out_of_sight() -> None:
    assert "<noscript>" in shown("<p></p><noscript>Please enable JavaScript.</noscript>")


def test_a_copy_of_what_the_page_shows_stays_out_of_sight() -> None:
    assert "<noscript>" in shown(f"{THREAD}<noscript>{THREAD}</noscript>")


def test_declared_open_shadow_roots_are_parts_of_their_hosts() -> None:
    html = (
        '<my-card><template shadowrootmode="open"><h2>Title</h2><template><p>x</p></template>'
        "<slot></slot></template><p>text</p></my-card>"
        "<b-c><TEMPLATE shadowrootmode=closed><p>x</p></TEMPLATE></b-c><template>y</template>"
    )
    assert open_shadow_roots(html) == (
        "<my-card><div shadowrootmode=open><h2>Title</h2><template><p>x</p></template>"
        "<slot></slot></div><p>text</p>"
        "</my-card><b-c><TEMPLATE shadowrootmode=closed><p>x</p></TEMPLATE></b-c>"
        "<template>y</template>"
    )


def test_text_in_a_declared_shadow_root_is_content() -> None:
    html = "<main><x-y><template shadowrootmode=open><p>In the root.</p></template></x-y></main>"
    found = extract_content(
        html.encode(),
        content_type="text/html",
        url="https://example.com/",
        options=ExtractOptions(),
    )
    assert found.markdown == "In the root."
