"""The images of a page."""

import pytest

from cinder.html.links import collect_images, resolve_lazy_images
from cinder.html.tree import content_root, parse_html, parse_http_url

BASE = parse_http_url("https://example.com/dir/page")


def images_of(html: str) -> tuple[str, ...]:
    body = content_root(parse_html(html))
    assert body is not None
    resolve_lazy_images(body)
    return collect_images([body], BASE)


def test_images_are_web_addresses_each_once_in_order() -> None:
    html = "<img src=b.png><img src='data:image/png;base64,AA'><img><img src=/a.png><img src=b.png>"
    assert images_of(html) == ("https://example.com/dir/b.png", "https://example.com/a.png")


@pytest.mark.parametrize(
    "html",
    [
        "<img data-src=/i.png>",
        "<picture><source srcset='/s.png 1x, /i.png 2x'></picture>",
        "<picture><source data-srcset='/i.png 900w, /s.png 100w'></picture>",
        "<amp-img src=/i.png></amp-img>",
        "<video src=/film.mp4 poster=/i.png><source src=/film.webm></video>",
        "<input type=IMAGE src=/i.png>",
        "<svg><image href=/i.png /></svg>",
        "<svg><image xlink:href=/i.png /></svg>",
        "<div style=\"color: red; background: URL( '/i.png' ) no-repeat\">x</div>",
        "<noscript><img src=/i.png></noscript>",
    ],
)
def test_every_way_to_show_an_image_counts(html: str) -> None:
    assert images_of(html) == ("https://example.com/i.png",)


def test_an_image_of_several_sizes_is_its_source_and_its_largest() -> None:
    html = "<img src=/m.png srcset='/s.png 100w, /l.png 900w, /m.png 500w'>"
    assert images_of(html) == ("https://example.com/m.png", "https://example.com/l.png")


def test_a_link_with_a_background_is_no_image() -> None:
    html = "<a href=/page style='background: url(/i.png)'>x</a>"
    assert images_of(html) == ("https://example.com/i.png",)


def test_a_sound_is_no_image() -> None:
    assert images_of("<audio src=/a.mp3><source src=/b.mp3></audio><iframe src=/c></iframe>") == ()
