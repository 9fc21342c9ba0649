"""tests.verdicts.test_js_shell"""

import os

import pytest

from cinder.models.document import FetchedPage, FetchSource
from cinder.verdicts import js_shell
from cinder.verdicts.evidence import PageEvidence

SENTENCE = (
    "The lighthouse at the end of the pier was built of granite in the year of the great storm. "
)
ARTICLE = f"<h1>The lighthouse</h1><p>{SENTENCE * 4}</p><p>{SENTENCE * 4}</p><p>{SENTENCE * 8}</p>"
NAVIGATION = (
    "<header><nav><a href='/'>Home</a> <a href='/news'>News</a> <a href='/about'>About us</a> "
    "<a href='/shop'>Shop</a></nav></header><h1>Our quotes</h1>"
)
FOOTER = "<footer><p>Copyright 2026 The Example Company. All rights reserved.</p></footer>"
ANALYTICS = (
    '<script async src="https://www.googletagmanager.com/gtag/js?id=G-1"></script><script>'
    "window.dataLayer = window.dataLayer || []; function gtag(){dataLayer.push(arguments)}</script>"
)

CREATE_REACT_APP = (
    "<noscript>You need to enable JavaScript to run this app.</noscript>"
    '<div id="root">{}</div><script src="/static/js/main.4f2a.js"></script>'
)
VITE_VUE = '<div id="app">{}</div><script type="module" src="/src/main.ts"></script>'
ANGULAR = '<app-root ng-version="17.3.0">{}</app-root><script src="main.js" type="module"></script>'
SVELTE = (
    '<div style="display: contents" id="svelte">{}</div><script>__sveltekit_1x = {{base: ""}};'
    "import('/_app/start.js')</script>"
)
NEXT = (
    '<div id="__next">{}</div><script id="__NEXT_DATA__" type="application/json">'
    '{{"props":{{"pageProps":{{}}}},"page":"/","nextExport":true}}</script>'
    '<script src="/_next/static/chunks/main.js" defer></script>'
)
NUXT = (
    '<div id="__nuxt">{}</div><script>window.__NUXT__={{serverRendered:false}}</script>'
    '<script src="/_nuxt/entry.js"></script>'
)
GATSBY = (
    '<div id="___gatsby"><div style="outline:none" tabindex="-1" id="gatsby-focus-wrapper">{}</div>'
    '</div><script src="/app-1a2b.js"></script>'
)
EMBER = '<body class="ember-application">{}<script src="/assets/vendor.js"></script></body>'
SPINNER = '<div class="loader"><svg><circle r="4"/></svg></div>'
APPLICATIONS = [CREATE_REACT_APP, VITE_VUE, ANGULAR, SVELTE, NEXT, NUXT, GATSBY, EMBER]
NAMES = ["react", "vue", "angular", "svelte", "next", "nuxt", "gatsby", "ember"]


def find_shell_signs(answer: FetchedPage) -> str | None:
    return js_shell.find_shell_signs(PageEvidence(answer))


def page(html: str | bytes, content_type: str = "text/html; charset=utf-8") -> FetchedPage:
    return FetchedPage(
        url="https://a.example/",
        final_url="https://a.example/",
        status_code=200,
        headers={"content-type": content_type},
        body=html if isinstance(html, bytes) else html.encode(),
        source=FetchSource.NATIVE,
        strategy="native",
    )


def document(body: str, head: str = "") -> FetchedPage:
    return page(
        "<!doctype html><html><head><meta charset='utf-8'><title>A title</title>"
        f"<style>body {{ color: black }}</style>{head}</head><body>{body}</body></html>"
    )


@pytest.mark.parametrize("application", APPLICATIONS, ids=NAMES)
def test_an_application_without_content_is_a_shell(application: str) -> None:
    assert find_shell_signs(document(application.format("")))


@pytest.mark.parametrize("application", APPLICATIONS, ids=NAMES)
def test_an_application_that_shows_a_spinner_is_a_shell(application: str) -> None:
    assert find_shell_signs(document(application.format(SPINNER)))


@pytest.mark.parametrize("application", APPLICATIONS, ids=NAMES)
def test_an_application_rendered_by_its_server_is_not_a_shell(application: str) -> None:
    assert find_shell_signs(document(application.format(ARTICLE))) is None


def test_a_container_that_an_inline_script_fills_makes_a_shell() -> None:
    script = (
        "<script>setTimeout(() => fetch('/api/quotes').then((r) => r.json()).then((all) => {"
        "document.getElementById('quotes-box').innerHTML = all.map(show).join('') }), 300)</script>"
    )
    shell = document(NAVIGATION + '<div id="quotes-box"><!-- later --></div>' + FOOTER + script)
    assert find_shell_signs(shell) == (
        "a script fills the empty container 'quotes-box', and there are about 15 words"
    )


@pytest.mark.parametrize(
    "script",
    [
        "$(function () { $.getJSON('/list', function (all) { $('#content').html(all.html) }) })",
        "const x = new XMLHttpRequest(); x.onload = () => { content.innerHTML = x.response };"
        "const content = document.querySelector('#content')",
        "axios.get('/x').then((a) => document.getElementById(`content`).append(a))",
    ],
)
def test_each_way_to_fill_a_container_is_known(script: str) -> None:
    body = f'{NAVIGATION}<div id="content"></div>{FOOTER}<script>{script}</script>'
    assert find_shell_signs(document(body))


@pytest.mark.parametrize(
    "container",
    ["<main></main>", "<ul id='list'> </ul>", "<div id=results></div>", "<div id='target'></div>"],
)
def test_an_empty_place_for_content_with_a_script_to_load_makes_a_shell(container: str) -> None:
    body = f'{NAVIGATION}{container}{FOOTER}<script src="/app.js"></script>'
    assert find_shell_signs(document(body))
    assert find_shell_signs(document(body.replace(container, f"<main>{ARTICLE}</main>"))) is None


def test_an_empty_root_among_many_links_makes_a_shell() -> None:
    links = "".join(
        f"<li><a href='/{number}'>Department {number}</a></li>" for number in range(150)
    )
    body = f'<ul>{links}</ul><div id="app" class="wide"></div><script src="/app.js"></script>'
    assert find_shell_signs(document(body))


@pytest.mark.parametrize(
    "plea",
    [
        "Please enable JavaScript to continue.",
        "Bitte aktivieren Sie JavaScript.",
        "Veuillez activer JavaScript pour voir cette page.",
        "Для работы сайта включите JavaScript",
        "このページを表示するにはJavaScriptを有効にしてください",
    ],
)
def test_a_plea_for_javascript_makes_a_shell_in_any_language(plea: str) -> None:
    body = f'{NAVIGATION}<noscript><p>{plea}</p></noscript><script src="/x.js"></script>'
    assert find_shell_signs(document(body))


@pytest.mark.parametrize(
    "text", ["Loading…", "Please wait...", "Wird geladen", "Chargement", "加载中"]
)
def test_words_of_waiting_make_a_shell(text: str) -> None:
    body = f'{NAVIGATION}<p class="state">{text}</p><script src="/x.js"></script>'
    assert find_shell_signs(document(body))


@pytest.mark.parametrize(
    "body",
    [
        "<p>One second.</p><script>location.replace('/home?js=1')</script>",
        "<p>One second.</p><script>window.location.href = '/home'</script>",
        "<noscript><meta http-equiv='refresh' content='0; url=/plain'></noscript>"
        "<p>This is the way in to our site, for all readers.</p><script src='/x.js'></script>",
        "<h1>Quotes to scrape</h1><script>for (const q of data) document.write('<p>' + q)</script>",
        f"{NAVIGATION}<div id='target'>Soon</div><script>fetch('/a').then((a) => a.text()).then("
        "(a) => { target.innerHTML = a })</script>",
        "<h1>Users of this place</h1><user-list></user-list><script src='/x.js'></script>",
        f"{NAVIGATION}<div class='card skeleton'></div><script src='/x.js'></script>",
        "<script src='/x.js'></script>",
    ],
    ids=["replace", "href", "refresh", "write", "fetch", "custom element", "skeleton", "nothing"],
)
def test_other_signs_of_a_shell_are_known(body: str) -> None:
    assert find_shell_signs(document(body))


@pytest.mark.parametrize(
    "body",
    [
        "<h1>Example Domain</h1><p>This domain is for use in documentation.</p>",
        "<h1>404 Not Found</h1><hr><center>nginx</center>",
        '<div id="root"></div>',
        "<noscript>Please enable JavaScript.</noscript><p>Hello.</p>",
        f"<h1>It works!</h1>{ANALYTICS}",
        f"{NAVIGATION}<p>We are open on weekdays.</p>{FOOTER}<script src='/menu.js'></script>",
        "<p>Opening hours: 9 to 5. Telephone 555 0100. Find us next to the old station.</p>"
        "<script>document.write(new Date().getFullYear())</script>",
        "<p>Loading docks are at the back of the house, please ring the bell twice when you come, "
        "and wait for the porter, who will open the gate</p><script src='/menu.js'></script>",
        "<frameset cols='20%,80%'><frame src='/menu'><frame src='/page'></frameset>",
        "",
    ],
)
def test_a_small_page_that_is_whole_is_not_a_shell(body: str) -> None:
    assert find_shell_signs(document(body)) is None


def test_a_page_with_text_and_widgets_that_load_later_is_not_a_shell() -> None:
    widgets = (
        '<div id="weather"></div><div id="comments"></div><div id="app"></div>'
        "<noscript>Please enable JavaScript to view the comments.</noscript><p>Loading...</p>"
        "<script>fetch('/w').then((w) => { weather.innerHTML = w })</script>"
    )
    assert find_shell_signs(document(ARTICLE + widgets)) is None
    assert (
        find_shell_signs(document(f"<p>{SENTENCE * 6}</p>" + widgets.replace('id="app"', "")))
        is None
    )


def test_text_is_found_behind_large_scripts() -> None:
    data = f"<script>window.__INITIAL_STATE__ = '{'x' * 3_000_000}'</script>"
    assert find_shell_signs(document(ARTICLE, head=data)) is None
    assert find_shell_signs(document('<div id="root"></div>', head=data))


def test_text_of_scripts_styles_and_templates_is_not_content() -> None:
    hidden = (
        f"<SCRIPT>let text = '<p>{SENTENCE * 20}</p>'</SCRIPT><!-- <p>{SENTENCE * 20}</p> -->"
        f"<template><p>{SENTENCE * 20}</p></template><noscript><p>{SENTENCE * 20}</p></noscript>"
    )
    assert find_shell_signs(document(hidden + '<div id="root"></div>'))


@pytest.mark.parametrize(
    ("content_type", "is_shell"),
    [
        ("text/html", True),
        ("application/xhtml+xml", True),
        ("", True),
        ("application/json", False),
        ("text/plain", False),
        ("application/rss+xml", False),
        ("text/xml", False),
        ("image/svg+xml", False),
    ],
)
def test_only_html_can_be_a_shell(content_type: str, is_shell: bool) -> None:
    html = '<!doctype html><div id="root"></div><script src="/app.js"></script>'
    assert bool(find_shell_signs(page(html, content_type))) is is_shell


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<" * 200_000,
        b">" * 200_000,
        b"<script>" * 50_000,
        b"<script>f()</script>" + b"<div " + b" id=root" * 50_000,
        b"<script>f()</script>" + b"<p id='a'></p>" * 50_000,
        b"<script>fetch( </script>" + b"<div class='a-b" * 50_000,
        b"<script>f()</script><p>&#" + b"1" * 100_000 + b";</p>",
        b"<script>f()</script><noscript>" + b"<meta " * 50_000,
        b"<script>" + b"document.write( " * 50_000,
        "<script>f()</script><p>é</p>".encode("utf-16"),
        b"<script>f()</script><div id=\xff\xfe></div>" + os.urandom(100_000),
    ],
)
def test_hostile_bytes_are_judged_without_an_error(body: bytes) -> None:
    find_shell_signs(page(body))


@pytest.mark.parametrize("anchor", ["<span id='{}'></span>", "<a id='{}'></a>"])
@pytest.mark.parametrize("name", ["app", "root", "generic-views"])
def test_an_empty_anchor_is_no_root_of_an_application(anchor: str, name: str) -> None:
    html = f"{NAVIGATION}{anchor.format(name)}<p>See the guide.</p><script src='/d.js'></script>"
    assert find_shell_signs(document(html)) is None


def test_a_skeleton_beside_a_text_is_a_widget() -> None:
    skeleton = "<div class='rail-skeleton'></div><script src='/rail.js'></script>"
    assert find_shell_signs(document(f"<p>{SENTENCE * 3}</p>{skeleton}")) is None
    assert find_shell_signs(document(f"<p>A rail.</p>{skeleton}"))


def test_an_empty_element_of_the_pages_own_is_a_shell_without_a_script_too() -> None:
    assert find_shell_signs(document("<lamp-app></lamp-app>"))
    assert find_shell_signs(document(f"{NAVIGATION}<lamp-map></lamp-map>")) is None
