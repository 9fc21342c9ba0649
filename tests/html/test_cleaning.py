"""What is taken out of a page."""

import pytest

from cinder.errors import ErrorCode, InvalidRequest
from cinder.html.cleaning import (
    find_included,
    remove_base64_images,
    remove_chrome,
    remove_invisible,
    remove_matching,
    strip_attributes,
)
from cinder.html.tree import Elements, parse_html


@pytest.mark.parametrize(
    "html",
    [
        "<script>x</script>",
        "<style>x</style>",
        "<noscript>x</noscript>",
        "<template>x</template>",
        "<!-- x -->",
        "<p hidden>x</p>",
        "<p style='color: red; DISPLAY : none'>x</p>",
        "<p style='visibility:hidden'>x</p>",
        "<dialog>x</dialog>",
        "<iframe src=x></iframe>",
        "<svg><text>x</text></svg>",
        "<img alt=x>",
    ],
)
def test_what_nobody_sees_is_removed(html: str) -> None:
    body = parse_html(f"<body>{html}<p>kept</p>").css("body")[0]
    remove_invisible(Elements(body))
    assert body.inner_html == "<p>kept</p>"


def test_a_page_hidden_until_its_script_runs_is_kept() -> None:
    body = parse_html("<body style=display:none><main hidden><p>kept</p></main>").css("body")[0]
    remove_invisible(Elements(body))
    assert body.css_first("p") is not None


@pytest.mark.parametrize(
    "html",
    [
        "<nav>x</nav>",
        "<header>x</header>",
        "<footer>x</footer>",
        "<aside>x</aside>",
        "<form><input></form>",
        "<div role=navigation>x</div>",
        "<button>x</button>",
    ],
)
def test_page_chrome_is_removed(html: str) -> None:
    body = parse_html(f"<body>{html}<p>kept</p>").css("body")[0]
    remove_chrome(Elements(body))
    assert body.inner_html == "<p>kept</p>"


def test_an_articles_own_header_and_footer_stay() -> None:
    html = "<article><header><h1>T</h1></header><p>x</p><footer>by Ada</footer></article>"
    body = parse_html(html).css("body")[0]
    remove_chrome(Elements(body))
    assert body.inner_html == html


def test_a_form_around_the_whole_page_stays() -> None:
    body = parse_html(f"<form><p>{'word ' * 500}</p></form>").css("body")[0]
    remove_chrome(Elements(body))
    assert body.css_first("p") is not None


def test_excluded_elements_are_removed() -> None:
    tree = parse_html("<div id=ad>x</div><p class='a post'>y</p><b>z</b>")
    remove_matching(tree, ["#ad", ".post"])
    assert tree.css("body")[0].inner_html == "<b>z</b>"


def test_included_elements_come_in_document_order_and_once() -> None:
    tree = parse_html("<p class=post id=1></p><article id=2><p class=post id=3></p></article>")
    found = find_included(tree, ["article", ".post", "article p"])
    assert [node.id for node in found] == ["1", "2"]


@pytest.mark.parametrize("selector", ["", "p:", "div[", "..x", "p::before", "a >", "{}"])
def test_an_invalid_selector_is_named_with_its_field(selector: str) -> None:
    tree = parse_html("<p>x")
    with pytest.raises(InvalidRequest) as included:
        find_included(tree, ["p", selector])
    with pytest.raises(InvalidRequest) as excluded:
        remove_matching(tree, [selector])
    assert included.value.code is ErrorCode.VALIDATION_ERROR
    assert included.value.problems[0].field == "includeTags"
    assert excluded.value.problems[0].field == "excludeTags"
    assert repr(selector) in excluded.value.problems[0].message


def test_embedded_images_are_removed() -> None:
    body = parse_html("<img src='data:image/png;base64,AA'><img src=/a.png>").css("body")[0]
    remove_base64_images(Elements(body))
    assert body.inner_html == '<img src="/a.png">'


def test_event_handlers_and_styles_are_stripped() -> None:
    body = parse_html("<p onclick=x() style=color:red class=c>x</p>").css("body")[0]
    strip_attributes(body)
    assert body.inner_html == '<p class="c">x</p>'
