"""Parts of a page that came late."""

from cinder.extract.html_tree import parse_html
from cinder.extract.visibility.streamed_parts import place_streamed_parts


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
