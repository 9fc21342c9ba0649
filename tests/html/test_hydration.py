"""tests.html.test_hydration"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.documents.page_content import extract_content
from cinder.html.hydration import read_hydration
from cinder.models.document import Extraction
from cinder.models.request import ExtractOptions
from tests.site.pages import BUILDS

FIRST = "The ferry ran aground on the sandbank at noon, and the crew waited for the evening tide."
SECOND = "Nobody was hurt, and the passengers walked ashore over the sand before the water came."
STORY = {"id": "a1", "title": "Aground", "text": FIRST, "more": {"text": SECOND}}
READ = f"<h1>Aground</h1>\n<p>{FIRST}</p>\n<p>{SECOND}</p>"
# The same story, each value named by its position.
NUXT = [
    ["ShallowReactive", 1],
    {"story": 2},
    {"id": 3, "title": 4, "text": 5, "more": 6},
    *("a1", "Aground", FIRST),
    {"text": 7},
    SECOND,
]
ROUTER = [
    {"_1": 2},
    "story",
    {"_3": 4, "_5": 6, "_7": 8},
    *("title", "Aground", "text", FIRST, "more"),
    {"_5": 9},
    SECOND,
]
LITERAL = (
    f"{{story:{{title:'Aground',text:\"{FIRST}\",at:new Date(0),n:.5,more:{{text:'{SECOND}',}}}},"
    "x:void 0}"
)
ISLAND = json.dumps(
    {"story": [0, {"title": [0, "Aground"], "body": [1, [[0, FIRST], [0, SECOND]]]}]}
)


def script(code: str, attributes: str = "") -> str:
    return f"<div id=root></div><script {attributes}>{code}</script>"


@pytest.mark.parametrize(
    ("source", "html"),
    [
        (
            "__NEXT_DATA__",
            script(
                json.dumps({"props": {"pageProps": STORY}}),
                'id="__NEXT_DATA__" type="application/json"',
            ),
        ),
        ("__NUXT_DATA__", script(json.dumps(NUXT), 'type="application/json" id="__NUXT_DATA__"')),
        ("__NUXT__", script(f"window.__NUXT__={LITERAL}")),
        ("__remixContext", script(f"window.__remixContext = {json.dumps({'state': STORY})};")),
        (
            "__reactRouterContext",
            script(
                "window.__reactRouterContext.streamController.enqueue("
                f"{json.dumps(json.dumps(ROUTER))});"
            ),
        ),
        (
            "SvelteKit",
            script(
                "__sveltekit_1 = {}; kit.start(app, element, { node_ids: [0, 2], "
                f'data: [null,{{type:"data",data:{LITERAL}}}], form: null }})'
            ),
        ),
        (
            "SvelteKit",
            script(
                json.dumps({"status": 200, "body": json.dumps(STORY)}),
                'type="application/json" data-sveltekit-fetched data-url="/api"',
            ).replace("<div id=root>", "<div id=svelte>"),
        ),
        ("__APOLLO_STATE__", script(f"window.__APOLLO_STATE__ = {json.dumps({'Story:1': STORY})}")),
        (
            "__PRELOADED_STATE__",
            script(f"window['__PRELOADED_STATE__'] = JSON.parse({json.dumps(json.dumps(STORY))})"),
        ),
        ("__INITIAL_STATE__", script(f"__INITIAL_STATE__ = {LITERAL};(function(){{}})()")),
        (
            "JSON-LD articleBody",
            script(
                json.dumps({"headline": "Aground", "articleBody": f"{FIRST}\n\n{SECOND}"}),
                'type="application/ld+json"',
            ),
        ),
    ],
)  # fmt: skip
def test_the_text_of_each_kind_of_data_is_read_in_order(source: str, html: str) -> None:
    found = read_hydration(html)
    assert found is not None
    assert (found.source, found.html.replace("</p><p>", "</p>\n<p>")) == (source, READ)


def test_the_props_of_an_island_are_read() -> None:
    props = ISLAND.replace('"', "&quot;")
    found = read_hydration(f'<astro-island uid="1" props="{props}" ssr></astro-island>')
    assert found is not None
    assert (found.source, FIRST in found.html, SECOND in found.html) == ("astro-island", True, True)


def read_state(state: object) -> str:
    found = read_hydration(script(f"window.__INITIAL_STATE__ = {json.dumps(state)}"))
    assert found is not None
    return found.html


def test_interface_texts_addresses_and_settings_are_no_content() -> None:
    long = "Accept all cookies to see what other people on this site have seen before you."
    state = {
        "messages": {"consent": long},
        "texts": {"cookie.text": long, "cookie.more": long},
        "config": {"text": long},
        "image": "https://example.com/a/very/long/path/to/a/picture/of/a/ferry.jpg",
        "code": "function () { return 'a long line of code that is not prose at all'; }",
        "story": STORY,
    }
    assert read_state(state) == READ


def test_rich_text_keeps_its_blocks() -> None:
    document = {
        "type": "doc",
        "content": [
            {
                "type": "heading",
                "attrs": {"level": 2},
                "content": [{"type": "text", "text": "Tide"}],
            },
            {
                "type": "paragraph",
                "content": [
                    {"type": "text", "text": "High "},
                    {"type": "link", "content": [{"type": "text", "text": "water"}]},
                ],
            },
        ],
    }
    assert read_state({"body": document}) == "<h2>Tide</h2>\n<p>High water</p>"


def test_values_that_name_each_other_many_times_do_not_multiply() -> None:
    bomb = [{"a": 1}, *([[n + 1] * 50 for n in range(1, 40)]), FIRST]
    found = read_hydration(script(json.dumps(bomb), 'id="__NUXT_DATA__" type="application/json"'))
    assert found is not None
    assert len(found.html) < 10_000


@given(st.text(alphabet="<script>\"'{}[]:,\\$_0aT\n __INITIAL_STATE__="))
def test_any_text_can_be_read(code: str) -> None:
    read_hydration(script(f"__INITIAL_STATE__={code}"))
    read_hydration(script(f"self.__next_f.push([1,{json.dumps('0:' + code)}])"))


def read_page(html: str) -> Extraction:
    return extract_content(
        html.encode(),
        content_type="text/html",
        url="https://example.com/",
        options=ExtractOptions(),
    )


@pytest.mark.parametrize(
    ("page", "source", "parts"),
    [
        (
            "harbour",
            "__NEXT_DATA__",
            ["# The harbour at night", "## The night shift", "example.com/repairs)", "By six"],
        ),
        (
            "lighthouse",
            "__next_f",
            ["# The keepers of the lighthouse", "## The lamp", "example.com/lens)", "- Two"],
        ),
    ],
)  # fmt: skip
def test_the_text_of_a_page_without_its_bundle_is_read_from_its_data(
    page: str, source: str, parts: list[str]
) -> None:
    html = (BUILDS / "next" / f"{page}.html").read_text()
    found = read_page(html)
    assert [part for part in parts if part not in (found.markdown or "")] == []
    assert source in found.warnings[-1]
    assert found.text == html


def test_the_data_of_a_page_that_shows_its_text_is_left_alone() -> None:
    html = f"<p>{SECOND} {FIRST}</p>" * 20 + script(
        f"window.__INITIAL_STATE__ = {json.dumps(STORY)}"
    )
    assert "Aground" not in (read_page(html).markdown or "")
